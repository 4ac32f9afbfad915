#!/usr/bin/env bash
# electrodb 3.9.3: an item that lacks an attribute of an index is in the index all the same.
#
# One would expect a sparse index: an item without the attribute that the partition key is made
# of has no key in the index. ElectroDB leaves the keys out only if all attributes of both keys
# are missing. If the item has one of them, it gets both keys, and the missing part is empty:
# every item without the attribute is in one common partition, "$shop#state_", which grows with
# the table, and is as hot as all of their writes. Removing the attribute removes one of the two
# keys. A program in another language that makes the same keys has to know all of this.
#
# Seen: electrodb 3.9.3 with Node 20.
set -euo pipefail
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT && cd "$dir"
npm install --silent --no-save --ignore-scripts --no-audit --no-fund electrodb@3.9.3 >/dev/null

cat >seen.js <<'JS'
const { Entity } = require('electrodb');
const order = new Entity({
  model: { service: 'shop', entity: 'order', version: '1' },
  attributes: { id: { type: 'string', required: true }, state: { type: 'string' }, zone: { type: 'string' } },
  indexes: {
    main: { pk: { field: 'pk', composite: ['id'] }, sk: { field: 'sk', composite: [] } },
    byState: { index: 'GSI1', pk: { field: 'GSI1PK', composite: ['state'] }, sk: { field: 'GSI1SK', composite: ['zone'] } },
  },
}, { table: 'shop' });
const keys = (item) => `GSI1PK=${item.GSI1PK} GSI1SK=${item.GSI1SK}`;
console.log('neither:', keys(order.put({ id: '1' }).params().Item));
console.log('zone only:', keys(order.put({ id: '1', zone: 'z' }).params().Item));
console.log('state only:', keys(order.put({ id: '1', state: 's' }).params().Item));
const { UpdateExpression, ExpressionAttributeNames } = order.patch({ id: '1' }).remove(['state']).params();
const removed = UpdateExpression.slice(UpdateExpression.indexOf('REMOVE'));
console.log('removing state:', ['GSI1PK', 'GSI1SK'].map((k) => `${k} ${Object.entries(ExpressionAttributeNames).some(([n, v]) => v === k && removed.includes(n)) ? 'removed' : 'kept'}`).join(', '));
JS

diff - <(node seen.js) <<'EOT' && echo "as stated"
neither: GSI1PK=undefined GSI1SK=undefined
zone only: GSI1PK=$shop#state_ GSI1SK=$order_1#zone_z
state only: GSI1PK=$shop#state_s GSI1SK=$order_1#zone_
removing state: GSI1PK removed, GSI1SK kept
EOT
