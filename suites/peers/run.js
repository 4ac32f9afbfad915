// Runs the libraries of others for the tests: a call is a line of JSON on the standard input,
// { id, client, table, peer, op, args }, its response a line on the standard output,
// { id, result }, { id, error } with what a library has thrown, or { id, fault } with what is
// wrong with the call. It ends when its input ends.
'use strict';
const { createInterface } = require('node:readline');
const { DynamoDB } = require('@aws-sdk/client-dynamodb');
const { DynamoDBDocument } = require('@aws-sdk/lib-dynamodb');

const opened = new Map();
let client;

// open gives the operations of a peer on a table. They are made once, since some libraries
// keep models by table, and all have one client, as some libraries want.
function open(peer, options, table) {
  client ??= new DynamoDB(options);
  const name = `${peer} ${table}`;
  if (!opened.has(name)) {
    const document = (options) => DynamoDBDocument.from(client, options);
    opened.set(name, require(`./${peer}.js`)({ client, document, table }));
  }
  return opened.get(name);
}

// JSON has no dates, sets, bytes and undefined: they are objects with one member that says so.
function plain(key, converted) {
  const value = this[key];
  if (value instanceof Date) return { $date: value.toISOString() };
  if (value instanceof Set) return { $set: [...value].sort() };
  if (value instanceof Uint8Array) return { $bytes: Buffer.from(value).toString('base64') };
  if (typeof value === 'bigint') return { $bigint: String(value) };
  return converted;
}

function revived(key, value) {
  if (value?.$date) return new Date(value.$date);
  if (value?.$set) return new Set(value.$set);
  if (value?.$bytes) return Buffer.from(value.$bytes, 'base64');
  return value;
}

async function answer(line) {
  const { id, client: options, table, peer, op, args } = JSON.parse(line, revived);
  const operations = await open(peer, options, table);
  if (!operations[op]) return { id, fault: `${peer}.js has no ${op}` };
  try {
    return { id, result: (await operations[op](...args)) ?? null };
  } catch (error) {
    return { id, error: `${error.name}: ${error.message}` };
  }
}

createInterface({ input: process.stdin })
  .on('line', async (line) => process.stdout.write(JSON.stringify(await answer(line), plain) + '\n'))
  .on('close', () => process.exit(0));
