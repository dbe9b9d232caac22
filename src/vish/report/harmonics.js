// The model's function: a row of inputs to mean and variance, as vish.inference.posterior has it.

function unpacked(stored) {
  const bytes = Uint8Array.from(atob(stored.data), (c) => c.charCodeAt(0));
  const kinds = { f8: Float64Array, f4: Float32Array, i4: Int32Array };
  return new kinds[stored.kind](bytes.buffer); // browsers run on little-endian machines
}

// Orthonormal harmonics by recursion over the coordinates (vish.sphere.harmonics).
class Basis {
  constructor(stored) {
    this.dimension = stored.dimension;
    this.degree = stored.degree;
    this.steps = stored.steps;
    for (const name of ["parents", "factors", "betas", "columns", "scales"]) {
      this[name] = unpacked(stored[name]);
    }
    this.values = new Float64Array(this.parents.length);
    this.polynomials = new Float64Array((this.degree * (this.degree + 1)) / 2);
  }

  evaluate(x) {
    const { dimension: d, degree: L, steps, parents, factors, values, polynomials: P } = this;
    values[0] = 1;
    for (let m = 1; m <= L; m++) {
      const re = m > 1 ? values[2 * m - 3] : 1, im = m > 1 ? values[2 * m - 2] : 0;
      values[2 * m - 1] = re * x[0] - im * x[1];
      values[2 * m] = re * x[1] + im * x[0];
    }
    let rho2 = x[0] * x[0] + x[1] * x[1];
    for (let step = 0; step < d - 2; step++) {
      const t = x[step + 2];
      rho2 += t * t;
      let row = 0;
      for (let m = 0; m < L; m++) {
        const beta = (step * L + m) * (L + 1);
        for (let k = 1; k <= L - m; k++, row++) {
          const one = k > 1 ? P[row - 1] : 1;
          const two = k > 2 ? P[row - 2] : k > 1 ? 1 : 0;
          const last = k > 1 ? this.betas[beta + k - 1] : 0;
          P[row] = (t * one - last * rho2 * two) / this.betas[beta + k];
        }
      }
      for (let c = steps[step]; c < steps[step + 1]; c++) {
        values[c] = values[parents[c]] * P[factors[c]];
      }
    }
    return Float64Array.from(this.columns, (c, i) => values[c] * this.scales[i]);
  }
}

// All monomials of a degree, those with largest variable i being i times a prefix of the degree below.
function monomials(x, degree) {
  const d = x.length;
  let values = Float64Array.of(1), sizes = new Array(d).fill(1), lower = null;
  for (let k = 1; k <= degree; k++) {
    lower = values;
    const total = sizes.reduce((sum, n) => sum + n, 0);
    values = new Float64Array(total);
    let place = 0;
    for (let i = 0; i < d; i++) {
      for (let j = 0; j < sizes[i]; j++) values[place++] = x[i] * lower[j];
    }
    let sum = 0;
    sizes = sizes.map((n) => (sum += n));
  }
  return { values, lower };
}

function dot(a, b, from = 0) {
  let sum = 0;
  for (let i = 0; i < b.length; i++) sum += a[from + i] * b[i];
  return sum;
}

class Model {
  constructor(stored) {
    this.stored = stored;
    this.map = unpacked(stored.map);
    this.basis = new Basis(stored.basis);
    this.means = unpacked(stored.means);
    this.variance = this.prepared(stored.variance);
  }

  prepared(variance) {
    if (!variance) return () => this.stored.shift.map(() => NaN);
    const parts = (variance.roots || variance.rows || variance.coefficients).map(unpacked);
    let values;
    if (variance.form === "monomials") {
      values = (x) => {
        const { values: upper, lower } = monomials(x, variance.degree);
        const both = (c) => (c.length > upper.length ? dot(c, lower, upper.length) : 0);  // 0: odd degrees
        return parts.map((c) => dot(c, upper) + both(c));
      };
    } else if (variance.form === "harmonics") {
      const wide = new Basis(variance.basis);
      values = (x) => { const phi = wide.evaluate(x); return parts.map((c) => dot(c, phi)); };
    } else if (variance.form === "rank") {
      values = (x, phi) => parts.map((rows) => {
        let sum = 0;
        for (let i = 0; i < variance.rank; i++) sum += dot(rows, phi, i * phi.length) ** 2;
        return sum;
      });
    } else {
      values = (x, phi) => parts.map((root) => {
        let sum = 0, place = 0;
        for (let i = 0; i < phi.length; i++) {
          let row = 0;
          for (let j = i; j < phi.length; j++) row += root[place++] * phi[j];
          sum += row * row;
        }
        return sum;
      });
    }
    return (x, phi) => { const found = values(x, phi); return variance.of_target.map((i) => found[i]); };
  }

  // Mean and variance of every latent function, and the radius of the row.
  latent(inputs) {
    const { centre, scale, shift, tail } = this.stored;
    const D = centre.length, p = this.map.length / D;
    const standard = inputs.map((v, i) => (v - centre[i]) / scale[i]);
    const x = new Float64Array(p + 1).fill(1);
    for (let k = 0; k < p; k++) x[k] = dot(this.map, standard, k * D);
    const r = Math.hypot(...x);
    for (let k = 0; k <= p; k++) x[k] /= r;
    const phi = this.basis.evaluate(x);
    const mean = shift.map((s, t) => s + r * dot(this.means, phi, t * phi.length));
    const variance = this.variance(x, phi).map((v) => r * r * (Math.max(v, 0) + tail));
    return { mean, variance, r };
  }
}
