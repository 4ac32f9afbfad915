package table

// For tests.
var (
	SameItem        = sameItem
	CanonicalNumber = canonicalNumber
	CompareNumbers  = compareNumbers
	Repeatable      = repeatable
)

// MaxItemSize is what DynamoDB takes.
const MaxItemSize = maxItemSize
