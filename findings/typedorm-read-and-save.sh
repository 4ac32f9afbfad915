#!/usr/bin/env bash
# @typedorm/core 1.15.4 gives bytes back as a plain object, and stores that when the entity is saved.
#
# One would expect to read what was stored. A Buffer is stored as bytes. findOne gives an object
# with a member for each byte, {"0":1,"1":2}, which is no Buffer and has no length. A create with
# overwriteIfExists of an entity that was read stores it as a map of numbers: a picture takes
# several times the space, and no other program reads it. A Uint8Array is stored so at once, and a set
# as a list.
# Besides, update of an entity that is missing creates an item, without the type and the attributes
# of the key. It is read as an entity without an id, and a create of the entity is refused from
# then on. An update that comes after a delete does this.
#
# Seen: @typedorm/core 1.15.4 with Node 20, by the requests that it sends.
set -euo pipefail
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT && cd "$dir"
npm install --silent --no-save --ignore-scripts --no-audit --no-fund --legacy-peer-deps @typedorm/core@1.15.4 @typedorm/common@1.15.4 reflect-metadata@0.1.14 @aws-sdk/client-dynamodb@3.1169.0 @aws-sdk/lib-dynamodb@3.1169.0 >/dev/null

cat >seen.js <<'JS'
require('reflect-metadata');
const http = require('node:http');
const { DynamoDBClient } = require('@aws-sdk/client-dynamodb');
const { createConnection, getEntityManager } = require('@typedorm/core');
const { Attribute, Entity, Table } = require('@typedorm/common');
const { DocumentClientV3 } = require('@typedorm/document-client');

const stored = {}; // the items, by sort key
const server = http.createServer((req, res) => {
  let body = '';
  req.on('data', (d) => { body += d; }).on('end', () => {
    const operation = req.headers['x-amz-target'].split('.')[1], input = JSON.parse(body);
    if (operation === 'PutItem') stored[input.Item.sk.S] = input.Item;
    if (operation === 'UpdateItem') console.log(`update of what is missing: ${input.UpdateExpression}; with a condition: ${'ConditionExpression' in input}`);
    const out = operation === 'GetItem' ? { Item: stored[input.Key.sk.S] } : {};
    res.setHeader('content-type', 'application/x-amz-json-1.0').end(JSON.stringify(out));
  });
}).listen(0, async () => {
  const table = new Table({ name: 'shop', partitionKey: 'pk', sortKey: 'sk' });
  class Photo {}
  for (const [name, type] of [['id', String], ['image', Buffer], ['thumb', Uint8Array], ['tags', Set], ['title', String]]) {
    Reflect.defineMetadata('design:type', type, Photo.prototype, name);
    Attribute()(Photo.prototype, name);
  }
  Entity({ table, name: 'photo', primaryKey: { partitionKey: 'PHOTO#{{id}}', sortKey: 'PHOTO' } })(Photo);
  const client = new DynamoDBClient({ region: 'eu-west-1', endpoint: `http://127.0.0.1:${server.address().port}`, credentials: { accessKeyId: 'a', secretAccessKey: 'b' } });
  createConnection({ table, entities: [Photo], documentClient: new DocumentClientV3(client) });
  const photos = getEntityManager();
  const show = (what) => { const { image, thumb, tags } = stored.PHOTO; console.log(`${what}: image ${JSON.stringify(image)}, thumb ${JSON.stringify(thumb)}, tags ${JSON.stringify(tags)}`); };

  await photos.create(Object.assign(new Photo(), { id: '1', image: Buffer.from([1, 2]), thumb: Uint8Array.from([3]), tags: new Set(['red']) }));
  show('created');
  const read = await photos.findOne(Photo, { id: '1' });
  console.log(`read: image ${JSON.stringify(read.image)}, which is a Buffer: ${Buffer.isBuffer(read.image)}`);
  await photos.create(Object.assign(read, { title: 'beach' }), { overwriteIfExists: true });
  show('saved');
  await photos.update(Photo, { id: '2' }, { title: 'sea' });
  process.exit(0);
});
JS
diff - <(node --no-warnings seen.js) <<'EOT' && echo "as stated"
created: image {"B":"AQI="}, thumb {"M":{"0":{"N":"3"}}}, tags {"L":[{"S":"red"}]}
read: image {"0":1,"1":2}, which is a Buffer: false
saved: image {"M":{"0":{"N":"1"},"1":{"N":"2"}}}, thumb {"M":{"0":{"N":"3"}}}, tags {"L":[{"S":"red"}]}
update of what is missing: SET #UE_title = :UE_title; with a condition: false
EOT
