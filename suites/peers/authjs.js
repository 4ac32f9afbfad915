'use strict';
const { join } = require('node:path');
const { pathToFileURL } = require('node:url');

// The adapter is an ES module, which NODE_PATH does not lead to.
const adapter = join(process.env.NODE_PATH, '@auth', 'dynamodb-adapter', 'index.js');

module.exports = async ({ document, table }) => {
  const { DynamoDBAdapter } = await import(pathToFileURL(adapter));
  return DynamoDBAdapter(document({
    marshallOptions: { convertEmptyValues: true, removeUndefinedValues: true, convertClassInstanceToMap: true },
  }), { tableName: table });
};
