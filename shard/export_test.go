package shard

// For tests.
var Following = following
