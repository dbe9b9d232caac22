// From the values of the raw table to the inputs of the model, as vish.data.encodings has it.

const YEAR = 365.2425 * 86400, DAY = 86400;

function cycle(value, period) {
  const phase = (2 * Math.PI * (((value % period) + period) % period)) / period;
  return [Math.sin(phase), Math.cos(phase)];
}

// `value` is a number, null for a gap; of a category the place of its level, past the last: unseen.
function encodedColumn(column, value) {
  if (column.kind === "category") {
    const rows = (column.values = column.values || unpacked(column.rows));
    return Array.from(rows.subarray(value * column.width, (value + 1) * column.width));
  }
  const filled = value === null ? column.fill : value;
  let parts = [filled];
  if (column.kind === "date") {
    parts = [filled / YEAR - 30];
    for (const { period, whole_days: whole } of column.cycles) {
      parts.push(...cycle(whole ? Math.floor(filled / DAY) * DAY : filled, period));
    }
  } else if (column.period) {
    parts = cycle(filled, column.period);
  }
  if (column.indicator) parts.push(value === null ? 1 : 0);
  return column.kept.map((i) => parts[i]);
}

function encoded(columns, values) {
  return columns.flatMap((column, i) => encodedColumn(column, values[i]));
}
