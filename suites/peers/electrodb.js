'use strict';
const { Entity, Service } = require('electrodb');

module.exports = ({ client, table }) => {
  const config = { client, table };
  const customer = new Entity({
    model: { service: 'shop', entity: 'customer', version: '1' },
    attributes: { customerId: { type: 'string', required: true }, email: { type: 'string' } },
    indexes: {
      account: {
        collection: 'account', pk: { field: 'pk', composite: ['customerId'] }, sk: { field: 'sk', composite: [] },
      },
    },
  }, config);
  const order = new Entity({
    model: { service: 'shop', entity: 'order', version: '1' },
    attributes: {
      customerId: { type: 'string', required: true },
      orderId: { type: 'string', required: true },
      status: { type: 'string' },
      total: { type: 'number' },
      placed: { type: 'string' },
      tags: { type: 'set', items: 'string' },
      address: { type: 'any' },
      photo: { type: 'any' },
      note: { type: 'any' },
      sent: { type: 'any' },
    },
    indexes: {
      account: {
        collection: 'account',
        pk: { field: 'pk', composite: ['customerId'] }, sk: { field: 'sk', composite: ['orderId'] },
      },
      byStatus: {
        index: 'gsi1',
        pk: { field: 'gsi1pk', composite: ['status'] }, sk: { field: 'gsi1sk', composite: ['placed', 'orderId'] },
      },
    },
  }, config);
  const price = new Entity({
    model: { service: 'shop', entity: 'price', version: '1' },
    attributes: { amount: { type: 'number', required: true } },
    indexes: { prices: { pk: { field: 'pk', composite: [] }, sk: { field: 'sk', composite: ['amount'] } } },
  }, config);
  const shop = new Service({ customer, order });
  const data = async (call) => (await call.go()).data;
  return {
    create: (v) => data(order.create(v)),
    put: (v) => data(order.put(v)),
    upsert: (v) => data(order.upsert(v)),
    update: (key, set) => data(order.update(key).set(set)),
    patch: (key, set) => data(order.patch(key).set(set)),
    'patch.add': (key, add) => data(order.patch(key).add(add)),
    get: (key) => data(order.get(key)),
    remove: (key) => data(order.delete(key)),
    list: (customerId) => data(order.query.account({ customerId })),
    byStatus: (status) => data(order.query.byStatus({ status })),
    page: (customerId, cursor) => order.query.account({ customerId }).go({ count: 1, cursor }),
    createPrice: (amount) => data(price.create({ amount })),
    createCustomer: (v) => data(customer.create(v)),
    account: async (customerId) => {
      const found = await data(shop.collections.account({ customerId }));
      return `${found.customer.length} customer and ${found.order.length} order`;
    },
  };
};
