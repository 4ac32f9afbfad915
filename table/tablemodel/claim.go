package tablemodel

import (
	"strings"

	"github.com/singletable/singletable/internal/item"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
)

// ClaimOwner returns the type of the entity that owns a claim, and the key of its main item.
// Claims are the items that package repo writes for Entity.Claims. It is not ok for other
// items: their type does not end in " claim", or they do not hold a key of the table in the
// attributes ownerPK and ownerSK. Whether the owner is stored shows only a read.
func ClaimOwner(spec schema.Table, attributes table.Item) (kind string, key keys.Key, ok bool) {
	spec = spec.WithDefaults()
	kind, ok = strings.CutSuffix(item.Text(attributes[spec.Type]), item.ClaimSuffix)
	pk, hasPK := ownerKey(attributes, keyAttribute{item.OwnerPK, spec.PKType}, keys.MaxPK)
	sk, hasSK := "", true
	if !spec.SimpleKey {
		sk, hasSK = ownerKey(attributes, keyAttribute{item.OwnerSK, spec.SKType}, keys.MaxSK)
	}
	if !ok || kind == "" || !hasPK || !hasSK {
		return "", keys.Key{}, false
	}
	return kind, keys.Key{PK: keys.PK(pk), SK: keys.SK(sk)}, true
}

// ownerKey returns a part of the owner's key, if an item can be stored under it.
func ownerKey(attributes table.Item, of keyAttribute, longest int) (text string, ok bool) {
	p := item.PartsOf(attributes[of.name])
	text = p.Text + string(p.Bytes)
	return text, of.in(attributes) && len(text) <= longest
}
