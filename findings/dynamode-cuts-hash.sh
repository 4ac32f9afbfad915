#!/usr/bin/env bash
# dynamode 1.4.0: a text attribute loses a '#' at its begin and at its end when it is read, and a
# put of what was read stores it so.
#
# One would expect that only an attribute with a prefix or a suffix is cut, by that. Here every
# text is: "C#" reads as "C", "#1 fan" as "1 fan", "##" as "". So a form that shows a note and
# saves it again changes it, without an error; an id such as "x#" reads as "x", under which nothing
# is found. And an update of a missing item, without a condition, stores the change without the
# type, which reads as a whole entity afterwards.
#
# Seen: dynamode 1.4.0 with Node 20, by the requests that it sends.
set -euo pipefail
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT && cd "$dir"
npm install --silent --no-save --ignore-scripts --no-audit --no-fund dynamode@1.4.0 @aws-sdk/client-dynamodb@3.1169.0 >/dev/null

cat >seen.js <<'JS'
const { marshall, unmarshall } = require('@aws-sdk/util-dynamodb');
const { default: attribute } = require('dynamode/decorators');
const { default: Dynamode } = require('dynamode/dynamode');
const { default: Entity } = require('dynamode/entity');
const { default: TableManager } = require('dynamode/table');

let stored, sent;
Dynamode.ddb.set({
  getItem: async () => ({ Item: marshall(stored) }),
  putItem: async ({ Item }) => { sent = unmarshall(Item); return {}; },
  updateItem: async (input) => { sent = input; return { Attributes: marshall({ pk: 'p', sk: 's', note: 'n' }) }; },
});
class Shop extends Entity {
  constructor(p) { super(); Object.assign(this, { pk: p.pk, sk: p.sk }); }
}
attribute.partitionKey.string()(Shop.prototype, 'pk');
attribute.sortKey.string()(Shop.prototype, 'sk');
const shop = new TableManager(Shop, { tableName: 'Shop', partitionKey: 'pk', sortKey: 'sk' });
class Note extends Shop {
  constructor(p) { super(p); this.note = p.note; }
}
attribute.string()(Note.prototype, 'note');
const notes = shop.entityManager(Note);
(async () => {
  for (const note of ['plain', 'a#b', 'C#', '#1 fan', '##']) {
    stored = { pk: 'p', sk: 's', note, dynamodeEntity: 'Note' };
    const read = await notes.get({ pk: 'p', sk: 's' });
    await notes.put(read);
    console.log(`${JSON.stringify(note)}: read ${JSON.stringify(read.note)}, put ${JSON.stringify(sent.note)}`);
  }
  await notes.update({ pk: 'p', sk: 's' }, { set: { note: 'n' } });
  console.log(`update: type ${JSON.stringify(sent).includes('dynamodeEntity')}, condition ${'ConditionExpression' in sent && sent.ConditionExpression !== undefined}`);
})();
JS

diff - <(node --no-warnings seen.js) <<'EOT' && echo "as stated"
"plain": read "plain", put "plain"
"a#b": read "a#b", put "a#b"
"C#": read "C", put "C"
"#1 fan": read "1 fan", put "1 fan"
"##": read "", put ""
update: type false, condition false
EOT
