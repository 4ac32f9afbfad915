// Builds the keys of singletable in JavaScript, and tries all cases of docs/spec/keys.json:
// node keys.mjs ../../docs/spec/keys.json
import { readFileSync } from 'node:fs';

const refuse = (why) => { throw new RangeError(why); };
const bytes = (text) => Buffer.from(text, 'utf8');
const filled = (text) => text === '' ? refuse('empty') : text;

// Every byte up to % is written as % and two digits.
const escape = (text) => text.replace(/[\x00-%]/g, (c) => '%' + c.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0'));

function time(ms) {
  const text = new Date(ms).toISOString();
  return text.length === 24 ? text : refuse('a year outside 0000 to 9999');
}

function int(digits, width) {
  if (width < 1 || width > 20 || digits.startsWith('-') || digits.length > width) refuse('a number that does not fit');
  return digits.padStart(width, '0');
}

function segment({ str, int: digits, width, time: ms, raw }) {
  if (raw !== undefined) return raw;
  if (ms !== undefined) return time(ms);
  return digits === undefined ? escape(filled(str)) : int(digits, width);
}

function labelled({ label = '', value, number }) {
  if (Math.abs(number) > Number.MAX_SAFE_INTEGER) refuse('a number that is not stored');
  const text = filled(value ?? String(number));
  return (label + text).includes('#') ? refuse('a delimiter') : `${filled(label)}_${text}`;
}

function build({ part, prefix, casing, of = [] }, limits) {
  const first = casing ? [filled(prefix)] : prefix ? [escape(prefix)] : [];
  let key = filled([...first, ...of.map(casing ? labelled : segment)].join('#'));
  if (casing === 'lower') key = key.toLowerCase();
  return bytes(key).length > limits[part] ? refuse('too long') : key;
}

function range({ range: kind, prefix, of = [], text = '', times = [] }) {
  const parts = [...(prefix ? [escape(prefix)] : []), ...of.map(segment)];
  const under = parts.length ? parts.join('#') + '#' : '';
  // A bound lacks the Z, so it is before all keys of its millisecond.
  const [a, b] = times.map((t) => under + time(t).slice(0, -1));
  switch (kind) {
    case 'all': case 'starting': return { beginsWith: under + escape(text) };
    case 'since': return { from: a, to: under + '\u{10FFFF}' };
    case 'until': return { from: under, to: a };
    case 'between': return { from: a === b ? a + 'Z' : a, to: b };
    case 'exactly': return { from: parts.join('#'), to: parts.join('#') };
  }
}

let tried = 0;
function check(of, want, make) {
  let got;
  try { got = make(); } catch (e) { if (!(e instanceof RangeError)) throw e; }
  if (JSON.stringify(got) !== JSON.stringify(want)) throw new Error(`${JSON.stringify(of)}: built ${got}, want ${want}`);
  tried++;
}

const spec = JSON.parse(readFileSync(process.argv[2], 'utf8'));
const limits = { pk: spec.maxPK, sk: spec.maxSK };
for (const c of [...spec.keys, ...spec.order.flat()]) check(c, c.key, () => build(c, limits));
for (const c of spec.ranges) {
  const { beginsWith, from, to } = c;
  check(c, beginsWith === undefined ? { from, to } : { beginsWith }, () => range(c));
  check(c, Boolean(c.empty), () => to !== undefined && Buffer.compare(bytes(from), bytes(to)) > 0);
}
for (const row of spec.order) check(row, row, () => row.toSorted((a, b) => Buffer.compare(bytes(a.key), bytes(b.key))));
console.log(tried);
