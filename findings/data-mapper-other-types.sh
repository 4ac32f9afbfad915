#!/usr/bin/env bash
# @aws/dynamodb-data-mapper 0.7.3 reads an attribute of another type than its schema says as
# missing, without an error, and stores a Date in whole seconds.
#
# One would expect an error, as the AWS SDK for Go v2 and most mappers give. Here a program that
# reads an item which another one has written, and puts it back, removes what it could not read:
# a date that is stored as text, a number as text, a list where the schema has a set. A null in
# place of a text comes back as "". A Date is a number of seconds: the milliseconds are gone after
# the first put, so that of two events in a second neither is first, and milliseconds of another
# program are read as a date in the year 55840.
#
# Seen: @aws/dynamodb-data-marshaller 0.7.3, which the mapper reads and writes with, with Node 20.
set -euo pipefail
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT && cd "$dir"
npm install --silent --no-save --ignore-scripts --no-audit --no-fund @aws/dynamodb-data-marshaller@0.7.3 >/dev/null

cat >seen.js <<'JS'
const { marshallItem, unmarshallItem } = require('@aws/dynamodb-data-marshaller');
const schema = {
  id: { type: 'String' }, at: { type: 'Date' }, seats: { type: 'Number' }, note: { type: 'String' },
  tags: { type: 'Set', memberType: 'String' },
};
const read = (name, item) => console.log(`${name}:`, JSON.stringify(unmarshallItem(schema, { id: { S: 'b-1' }, ...item })));
read('a date as text', { at: { S: '2023-11-14T22:13:20.123Z' } });
read('a number as text', { seats: { S: '5' } });
read('a list of tags', { tags: { L: [{ S: 'window' }] } });
read('a null note', { note: { NULL: true } });
read('a date of milliseconds', { at: { N: '1700000000123' } });
console.log('a Date is stored as', JSON.stringify(marshallItem(schema, { at: new Date('2023-11-14T22:13:20.999Z') })));
JS

diff - <(node seen.js) <<'EOT' && echo "as stated"
a date as text: {"id":"b-1"}
a number as text: {"id":"b-1"}
a list of tags: {"id":"b-1"}
a null note: {"id":"b-1","note":""}
a date of milliseconds: {"id":"b-1","at":"+055840-11-08T22:15:23.000Z"}
a Date is stored as {"at":{"N":"1700000000"}}
EOT
