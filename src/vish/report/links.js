// From the latent function to what is observed, as vish.likelihoods has it.

const REACH = 1.959963984540054; // the 97.5 % quantile of a standard normal

// P(Z <= x): a series near zero, Lentz's continued fraction in the tails; 15 digits.
function normalCdf(x) {
  const z = Math.abs(x);
  if (z < 3) {
    let term = z, sum = z;
    for (let k = 1; k < 80 && term > 1e-17 * sum; k++) { term *= (z * z) / (2 * k + 1); sum += term; }
    const half = sum * Math.exp((-z * z) / 2) / Math.sqrt(2 * Math.PI);
    return x < 0 ? 0.5 - half : 0.5 + half;
  }
  let f = z, c = z, d = 0;
  for (let k = 1; k < 200; k++) {
    d = 1 / (z + k * d);
    c = z + k / c;
    f *= c * d;
    if (Math.abs(c * d - 1) < 1e-16) break;
  }
  const tail = Math.exp((-z * z) / 2) / (Math.sqrt(2 * Math.PI) * f);
  return x < 0 ? tail : 1 - tail;
}

function logGamma(x) { // Stirling's series, after stepping up to 10
  let shift = 0;
  for (; x < 10; x++) shift -= Math.log(x);
  const y = 1 / (x * x);
  return shift + (x - 0.5) * Math.log(x) - x + Math.log(2 * Math.PI) / 2 +
    (1 / 12 - y * (1 / 360 - y * (1 / 1260 - y / 1680))) / x;
}

// Lentz's method for a continued fraction b0 + a1/(b1 + a2/(b2 + ...)).
function continuedFraction(a, b) {
  const tiny = 1e-300;
  let f = b(0) || tiny, c = f, d = 0;
  for (let k = 1; k < 500; k++) {
    d = 1 / (b(k) + a(k) * d || tiny);
    c = b(k) + a(k) / c || tiny;
    f *= c * d;
    if (Math.abs(c * d - 1) < 1e-15) break;
  }
  return f;
}

// The regularised incomplete beta function I_x(p, q).
function betaCdf(x, p, q) {
  if (x <= 0) return 0;
  if (x >= 1) return 1;
  if (x > (p + 1) / (p + q + 2)) return 1 - betaCdf(1 - x, q, p);
  const front = Math.exp(
    logGamma(p + q) - logGamma(p) - logGamma(q) + p * Math.log(x) + q * Math.log1p(-x)) / p;
  const a = (k) => {
    if (k === 1) return 1;
    const m = Math.floor((k - 1) / 2);
    return k % 2 ? (m * (q - m) * x) / ((p + 2 * m - 1) * (p + 2 * m))
      : (-(p + m) * (p + q + m) * x) / ((p + 2 * m) * (p + 2 * m + 1));
  };
  return front * continuedFraction(a, (k) => (k ? 1 : 0));
}

// The regularised incomplete gamma function P(s, x).
function gammaCdf(x, s) {
  if (x <= 0) return 0;
  const front = Math.exp(s * Math.log(x) - x - logGamma(s));
  if (x < s + 1) {
    let term = 1 / s, sum = term;
    for (let k = 1; k < 10000 && term > 1e-17 * sum; k++) { term *= x / (s + k); sum += term; }
    return front * sum;
  }
  const a = (k) => (k === 1 ? 1 : -(k - 1) * (k - 1 - s));
  return 1 - front * continuedFraction(a, (k) => (k ? x + 2 * k - 1 - s : 0));
}

function studentCdf(t, nu) {
  const half = betaCdf(nu / (nu + t * t), nu / 2, 0.5) / 2;
  return t < 0 ? half : 1 - half;
}

const laplaceCdf = (u) => (u < 0 ? Math.exp(u) / 2 : 1 - Math.exp(-u) / 2);
const logistic = (f) => 1 / (1 + Math.exp(-f));

// Where a distribution function reaches a level: false position, after Illinois.
function quantile(cdf, level, low, high) {
  const width = () => 2 * (high - low);
  let below = cdf(low) - level, above = cdf(high) - level;
  for (let k = 0; k < 60 && below > 0; k++) { low -= width(); below = cdf(low) - level; }
  for (let k = 0; k < 60 && above < 0; k++) { high += width(); above = cdf(high) - level; }
  for (let k = 0, side = 0; k < 200 && high - low > 1e-11 * (Math.abs(high) + Math.abs(low)); k++) {
    const share = k % 3 === 2 ? 0.5 : below / (below - above); // and now and then in the middle
    const middle = low + share * (high - low), value = cdf(middle) - level;
    if (value >= 0) {
      high = middle; above = value;
      if (side > 0) below /= 2;
      side = 1;
    } else {
      low = middle; below = value;
      if (side < 0) above /= 2;
      side = -1;
    }
    if (Math.abs(value) < 1e-14) return middle;
  }
  return (low + high) / 2;
}

// P(Y <= y | f) of the likelihoods that are integrated over the latent value.
const CONDITIONAL = {
  StudentT: (link) => (y, f) => studentCdf((y - f) / link.parameters.scale, link.parameters.degrees_of_freedom),
  Laplace: (link) => (y, f) => laplaceCdf((y - f) / link.parameters.scale),
  Gamma: (link) => (y, f) => gammaCdf(link.parameters.shape * Math.max(y, 0) * Math.exp(-f), link.parameters.shape),
  Beta: (link) => (y, f) => betaCdf(y, link.parameters.precision * logistic(f), link.parameters.precision * logistic(-f)),
};
const AVERAGE = { StudentT: (f) => f, Laplace: (f) => f, Gamma: Math.exp, Beta: logistic };

// Smallest counts at which the mixture of the nodes' distributions reaches the levels.
function countQuantiles(logs, weights, levels) {
  const found = [];
  let total = 0;
  for (let k = logs.first; k < logs.last && found.length < levels.length; k++) {
    for (let i = 0; i < weights.length; i++) total += weights[i] * Math.exp(logs.at(k, i));
    while (found.length < levels.length && total >= levels[found.length]) found.push(k);
  }
  while (found.length < levels.length) found.push(NaN);
  return found;
}

function poissonLogs(rates) {
  const low = Math.min(...rates), high = Math.max(...rates);
  return {
    first: Math.max(0, Math.floor(low - 12 * Math.sqrt(low) - 40)),
    last: Math.ceil(high + 40 * Math.sqrt(high) + 200),
    at: (k, i) => k * Math.log(rates[i]) - rates[i] - logGamma(k + 1),
  };
}

function negativeBinomialLogs(rates, r) {
  const high = Math.max(...rates);
  const constants = rates.map((m) => r * Math.log(r / (r + m)) - logGamma(r));
  const slopes = rates.map((m) => Math.log(m / (r + m)));
  return {
    first: 0,
    last: Math.ceil(high + 40 * Math.sqrt(high + (high * high) / r) + 200),
    at: (k, i) => constants[i] + k * slopes[i] + logGamma(k + r) - logGamma(k + 1),
  };
}

const LINKS = {
  gaussian(link, { mean, variance, r }) {
    const std = link.scale * Math.sqrt(variance[0] + link.noise * (link.radial ? r * r : 1));
    const centre = link.shift + link.scale * mean[0];
    return { mean: centre, low: centre - REACH * std, high: centre + REACH * std };
  },

  warped(link, { mean, variance, r }) {
    const spread = Math.sqrt(variance[0] + link.noise * (link.radial ? r * r : 1));
    const inverse = (z) => link.shift + link.scale *
      (link.location + link.width * Math.sinh((Math.asinh(z) + link.skew) / link.tail));
    const at = (q) => inverse(mean[0] + spread * q);
    const centre = link.nodes.reduce((sum, node, i) => sum + link.weights[i] * at(node), 0);
    return { mean: centre, low: at(-REACH), high: at(REACH) };
  },

  bernoulli(link, { mean, variance }) {
    const cdf = (f, v) => link.shares.reduce(
      (sum, share, i) => sum + share * normalCdf(f / Math.sqrt(link.scales[i] ** 2 + v)), 0);
    const plain = (f) => (link.logit ? 1 / (1 + Math.exp(-f)) : normalCdf(f));
    const reach = REACH * Math.sqrt(variance[0]);
    const p = Math.min(cdf(mean[0], variance[0]), 1);
    return { mean: p, low: plain(mean[0] - reach), high: plain(mean[0] + reach), chances: [1 - p, p] };
  },

  softmax(link, { mean, variance }) {
    const K = mean.length, spread = variance.map(Math.sqrt);
    const draws = (link.values = link.values || unpacked(link.draws));
    const chances = new Array(K).fill(0), n = draws.length / K;
    for (let i = 0; i < n; i++) {
      const f = mean.map((m, k) => m + spread[k] * draws[i * K + k]);
      const top = Math.max(...f), e = f.map((v) => Math.exp(v - top));
      const sum = e.reduce((a, b) => a + b, 0);
      for (let k = 0; k < K; k++) chances[k] += e[k] / sum / n;
    }
    return { mean: Math.max(...chances), low: NaN, high: NaN, chances };
  },

  poisson(link, latent) { return counts(link, latent, (rates) => poissonLogs(rates)); },

  "negative binomial"(link, latent) {
    return counts(link, latent, (rates) => negativeBinomialLogs(rates, link.shape));
  },

  integrated(link, { mean, variance }) {
    const spread = Math.sqrt(variance[0]), conditional = CONDITIONAL[link.likelihood](link);
    const nodes = link.nodes.map((node) => mean[0] + spread * node);
    const sum = (of) => nodes.reduce((total, f, i) => total + link.weights[i] * of(f), 0);
    const centre = sum(AVERAGE[link.likelihood]);
    const at = (level) => quantile((y) => sum((f) => conditional(y, f)), level, centre - spread - 1e-9, centre + spread + 1e-9);
    const out = (y) => link.shift + link.scale * y;
    return { mean: out(centre), low: out(at(0.025)), high: out(at(0.975)) };
  },

  heteroscedastic(link, { mean, variance }) {
    const own = Math.sqrt(variance[1]);
    const spreads = link.nodes.map((node) => Math.sqrt(variance[0] + Math.exp(mean[1] + own * node)));
    const cdf = (y) => spreads.reduce((sum, s, i) => sum + link.weights[i] * normalCdf((y - mean[0]) / s), 0);
    const out = (y) => link.shift + link.scale * y, wide = 3 * spreads[spreads.length >> 1];
    const at = (level) => quantile(cdf, level, mean[0] - wide, mean[0] + wide);
    return { mean: out(mean[0]), low: out(at(0.025)), high: out(at(0.975)) };
  },

  latent(link, { mean, variance }) {
    const centre = link.shift + link.scale * mean[0], std = link.scale * Math.sqrt(variance[0]);
    return { mean: centre, low: centre - REACH * std, high: centre + REACH * std };
  },
};

function counts(link, { mean, variance }, logs) {
  const spread = Math.sqrt(variance[0]);
  const rates = link.nodes.map((node) => Math.exp(mean[0] + spread * node));
  const centre = rates.reduce((sum, rate, i) => sum + rate * link.weights[i], 0);
  const weighty = rates.filter((_, i) => link.weights[i] > 1e-7);
  const weights = link.weights.filter((w) => w > 1e-7);
  // Far from the data a rate may be beyond counting one by one.
  const ends = Math.max(...weighty) < 1e5 ? countQuantiles(logs(weighty), weights, [0.025, 0.975]) : [NaN, NaN];
  return { mean: centre, low: ends[0], high: ends[1] };
}
