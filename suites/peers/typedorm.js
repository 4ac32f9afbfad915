'use strict';
require('reflect-metadata');
const { createConnection, getEntityManager } = require('@typedorm/core');
const { Attribute, Entity, INDEX_TYPE, Table } = require('@typedorm/common');
const { DocumentClientV3 } = require('@typedorm/document-client');

// entity describes a class as the decorators of TypeScript do.
function entity(table, name, attributes, { primaryKey, indexes }) {
  const type = { [name]: class {} }[name];
  for (const [attribute, [design, options]] of Object.entries(attributes)) {
    Reflect.defineMetadata('design:type', design, type.prototype, attribute);
    Attribute(options)(type.prototype, attribute);
  }
  Entity({ table, name, primaryKey, indexes })(type);
  return type;
}

module.exports = ({ client, table }) => {
  const shop = new Table({
    name: table, partitionKey: 'pk', sortKey: 'sk',
    indexes: { gsi1: { type: INDEX_TYPE.GSI, partitionKey: 'gsi1pk', sortKey: 'gsi1sk' } },
  });
  const Order = entity(shop, 'order', {
    customerId: [String], orderId: [String], status: [String], total: [Number], placed: [String],
    tags: [Array], address: [Object], photo: [Object], note: [String], sent: [Date],
  }, {
    primaryKey: { partitionKey: 'CUSTOMER#{{customerId}}', sortKey: 'ORDER#{{orderId}}' },
    indexes: { gsi1: { type: INDEX_TYPE.GSI, partitionKey: 'STATUS#{{status}}', sortKey: '{{placed}}#{{orderId}}' } },
  });
  const Customer = entity(shop, 'customer', { customerId: [String], email: [String, { unique: true }] }, {
    primaryKey: { partitionKey: 'CUSTOMER#{{customerId}}', sortKey: 'PROFILE' },
  });
  createConnection({
    name: table, table: shop, entities: [Order, Customer], documentClient: new DocumentClientV3(client),
  });
  const manager = getEntityManager(table);
  const make = (type, v) => Object.assign(new type(), v);
  return {
    create: (v) => manager.create(make(Order, v)),
    put: (v) => manager.create(make(Order, v), { overwriteIfExists: true }),
    update: (key, v) => manager.update(Order, key, v),
    get: (key) => manager.findOne(Order, key),
    remove: (key) => manager.delete(Order, key),
    list: async (customerId) => (await manager.find(Order, { customerId }, { keyCondition: { BEGINS_WITH: 'ORDER#' } })).items,
    byStatus: async (status) => (await manager.find(Order, { status }, { queryIndex: 'gsi1' })).items,
    page: async (customerId, cursor) => {
      const { items, cursor: next } = await manager.find(Order, { customerId }, { limit: 1, cursor });
      return { data: items, cursor: next };
    },
    createCustomer: (v) => manager.create(make(Customer, v)),
    updateCustomer: (key, v) => manager.update(Customer, key, v),
    getCustomer: (key) => manager.findOne(Customer, key),
    removeCustomer: (key) => manager.delete(Customer, key),
  };
};
