'use strict';
const tb = require('dynamodb-toolbox');

module.exports = ({ document, table }) => {
  const { Table, Entity, item, string, number, set, map, binary, any } = tb;
  const Shop = new Table({
    name: table, documentClient: document({ marshallOptions: { removeUndefinedValues: true } }),
    partitionKey: { name: 'pk', type: 'string' }, sortKey: { name: 'sk', type: 'string' },
    indexes: {
      gsi1: { type: 'global', partitionKey: { name: 'gsi1pk', type: 'string' }, sortKey: { name: 'gsi1sk', type: 'string' } },
    },
    entityAttributeSavedAs: '_et',
  });
  const Customer = new Entity({
    name: 'Customer', table: Shop,
    schema: item({ customerId: string().key(), email: string().optional() }),
    computeKey: ({ customerId }) => ({ pk: `CUSTOMER#${customerId}`, sk: 'PROFILE' }),
  });
  const Order = new Entity({
    name: 'Order', table: Shop,
    schema: item({
      customerId: string().key(), orderId: string().key(),
      status: string(), total: number(), placed: string(),
      tags: set(string()).optional(), address: map({ street: string(), zip: string().optional() }).optional(),
      photo: binary().optional(), note: any().optional(), sent: any().optional(),
    }).and(() => ({
      gsi1pk: string().hidden().link(({ status }) => `STATUS#${status}`)
        .updateLink(({ status }) => status && `STATUS#${status}`),
      gsi1sk: string().hidden().link(({ placed, orderId }) => `${placed}#${orderId}`),
    })),
    computeKey: ({ customerId, orderId }) => ({ pk: `CUSTOMER#${customerId}`, sk: `ORDER#${orderId}` }),
  });
  const query = async (q, ...entities) => (await Shop.build(tb.QueryCommand).entities(...entities).query(q).send()).Items;
  return {
    put: (v) => Order.build(tb.PutItemCommand).item(v).send().then(() => null),
    create: (v) => Order.build(tb.PutItemCommand).item(v).options({ condition: { attr: 'orderId', exists: false } }).send().then(() => null),
    update: (key, v) => Order.build(tb.UpdateItemCommand).item({ ...key, ...v }).send().then(() => null),
    updateAttributes: (key, v) => Order.build(tb.UpdateAttributesCommand).item({ ...key, ...v }).send().then(() => null),
    get: async (key) => (await Order.build(tb.GetItemCommand).key(key).send()).Item,
    remove: (key) => Order.build(tb.DeleteItemCommand).key(key).send().then(() => null),
    list: (customerId) => query({ partition: `CUSTOMER#${customerId}`, range: { beginsWith: 'ORDER#' } }, Order),
    byStatus: (status) => query({ index: 'gsi1', partition: `STATUS#${status}` }, Order),
    createCustomer: (v) => Customer.build(tb.PutItemCommand).item(v).send().then(() => null),
    account: async (customerId) => {
      const found = await query({ partition: `CUSTOMER#${customerId}` }, Customer, Order);
      const orders = found.filter((v) => v.orderId);
      return `${found.length - orders.length} customer and ${orders.length} order`;
    },
    page: async (customerId, cursor) => {
      const { Items, LastEvaluatedKey } = await Shop.build(tb.QueryCommand).entities(Order)
        .query({ partition: `CUSTOMER#${customerId}`, range: { beginsWith: 'ORDER#' } })
        .options({ limit: 1, exclusiveStartKey: cursor }).send();
      return { data: Items, cursor: LastEvaluatedKey };
    },
  };
};
