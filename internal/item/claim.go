package item

// A claim is an item of package repo that keeps a key for an entity. Its type is the type of
// the entity with ClaimSuffix. OwnerPK and OwnerSK are its attributes that hold the key of
// the entity's main item, OwnerSK only in a table with a sort key.
const (
	ClaimSuffix = " claim"
	OwnerPK     = "ownerPK"
	OwnerSK     = "ownerSK"
)
