package keys_test

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/singletable/singletable/keys"
)

// The keys of an application are functions, declared once in one place.
func Example() {
	userKey := func(user string) keys.Key {
		return keys.Key{PK: keys.User.PK(user), SK: keys.Profile}
	}
	txKey := func(user string, at time.Time, id string) keys.Key {
		return keys.Key{PK: keys.User.PK(user), SK: keys.Tx.SK(keys.Time(at), keys.Str(id))}
	}

	at := time.Date(2024, time.January, 15, 10, 5, 0, 0, time.UTC)
	for _, key := range []keys.Key{userKey("u-123"), txKey("u-123", at, "tx-abc")} {
		if err := key.Validate(); err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(key.PK, "/", key.SK)
	}
	// Output:
	// USER#u-123 / PROFILE
	// USER#u-123 / TX#2024-01-15T10:05:00.000Z#tx-abc
}

func ExampleKey() {
	key := keys.Key{PK: keys.Tx.PK("tx-abc"), SK: keys.Metadata}
	seen := map[keys.Key]int{key: 1}

	fmt.Println(seen[keys.Key{PK: "TX#tx-abc", SK: "METADATA"}])
	// Output: 1
}

func ExampleKey_Validate() {
	key := keys.Key{PK: keys.User.PK(""), SK: keys.Profile}
	err := key.Validate()

	fmt.Println(err)
	fmt.Println(errors.Is(err, keys.ErrInvalid))
	// Output:
	// keys: invalid partition key: empty segment
	// true
}

func ExamplePrefix() {
	const Invoice keys.Prefix = "INVOICE"

	fmt.Println(Invoice.PK("ACME", "2024-7"))
	fmt.Println(Invoice.SK(keys.Str("line"), keys.Int(3, 4)))
	fmt.Println(Invoice.All(keys.Str("line")).Prefix)
	// Output:
	// INVOICE#ACME#2024-7
	// INVOICE#line#0003
	// INVOICE#line#
}

func ExamplePrefix_PK() {
	fmt.Println(keys.User.PK("u-123"))
	fmt.Println(keys.Prefix("ORDER").PK("ACME", "7"))
	fmt.Println(keys.Prefix("GLOBAL_TX").PK())
	// What a client may choose stays inside its segment.
	fmt.Println(keys.User.PK("u-1#TX#tx-abc"))
	// Output:
	// USER#u-123
	// ORDER#ACME#7
	// GLOBAL_TX
	// USER#u-1%23TX%23tx-abc
}

func ExamplePrefix_SK() {
	at := time.Date(2024, time.January, 15, 10, 5, 0, 0, time.UTC)

	fmt.Println(keys.Tx.SK(keys.Time(at), keys.Str("tx-abc")))
	fmt.Println(keys.Prefix("DEPT").SK(keys.Str("engineering"), keys.Str("storage")))
	fmt.Println(keys.None.SK(keys.Time(at)))
	// Output:
	// TX#2024-01-15T10:05:00.000Z#tx-abc
	// DEPT#engineering#storage
	// 2024-01-15T10:05:00.000Z
}

func ExamplePrefix_All() {
	const Dept keys.Prefix = "DEPT"
	r := Dept.All(keys.Str("eng"))

	for _, sk := range []keys.SK{"DEPT#eng", "DEPT#eng#db", "DEPT#eng#db#infra", "DEPT#engine#v8"} {
		fmt.Println(sk, r.Contains(sk))
	}
	// Output:
	// DEPT#eng false
	// DEPT#eng#db true
	// DEPT#eng#db#infra true
	// DEPT#engine#v8 false
}

func ExamplePrefix_Since() {
	r := keys.Notif.Since(time.Date(2024, time.January, 15, 0, 0, 0, 0, time.UTC))

	fmt.Printf("%s\n%+q\n", r.From, r.To)
	// Output:
	// NOTIF#2024-01-15T00:00:00.000
	// "NOTIF#\U0010ffff"
}

func ExamplePrefix_Until() {
	midnight := time.Date(2024, time.January, 15, 0, 0, 0, 0, time.UTC)
	r := keys.None.Until(midnight)

	fmt.Println(r.Contains(keys.None.SK(keys.Time(midnight.Add(-time.Millisecond)))))
	fmt.Println(r.Contains(keys.None.SK(keys.Time(midnight))))
	// Output:
	// true
	// false
}

func ExamplePrefix_Between() {
	monday := time.Date(2024, time.January, 15, 0, 0, 0, 0, time.UTC)
	tuesday := monday.AddDate(0, 0, 1)
	r := keys.Tx.Between(monday, tuesday)

	fmt.Println(r.Contains(keys.Tx.SK(keys.Time(monday), keys.Str("tx-1"))))
	fmt.Println(r.Contains(keys.Tx.SK(keys.Time(tuesday), keys.Str("tx-2"))))
	fmt.Println(keys.Tx.Between(monday, monday).Empty())
	// Output:
	// true
	// false
	// true
}

func ExampleSegment() {
	version := keys.Int(7, 6)

	fmt.Println(version)
	fmt.Println(keys.Prefix("VERSION").SK(version))
	fmt.Println(version == keys.Int(uint8(7), 6))
	// Output:
	// 000007
	// VERSION#000007
	// true
}

func ExampleStr() {
	fmt.Println(keys.Str("jane.doe+news@example.com"))
	fmt.Println(keys.Str("50% off #1"))
	// Output:
	// jane.doe+news@example.com
	// 50%25%20off%20%231
}

func ExampleTime() {
	tokyo := time.FixedZone("JST", 9*60*60)
	at := time.Date(2024, time.January, 15, 19, 5, 0, 123_456_789, tokyo)

	fmt.Println(keys.Time(at))
	// Output: 2024-01-15T10:05:00.123Z
}

func ExampleInt() {
	versions := []keys.SK{
		keys.Prefix("V").SK(keys.Int(10, 4)),
		keys.Prefix("V").SK(keys.Int(9, 4)),
	}
	slices.Sort(versions)

	fmt.Println(versions)
	fmt.Println(keys.Prefix("V").SK(keys.Int(10_000, 4)).Validate())
	// Output:
	// [V#0009 V#0010]
	// keys: invalid sort key: number wider than its segment
}

// Keys of other programs are written as strings, or with Raw where a part of them
// is built.
func ExampleRaw() {
	fmt.Println(keys.Tx.SK(keys.Raw("2024-01-15 10:05:00"), keys.Str("tx-abc")))
	fmt.Println(keys.Prefix("user").SK(keys.Raw("")))
	fmt.Println(keys.Key{PK: "#METADATA#x", SK: "A##B"}.Validate())
	// Output:
	// TX#2024-01-15 10:05:00#tx-abc
	// user#
	// <nil>
}

func ExampleRange() {
	letters := keys.Range{From: "A", To: "N"}

	fmt.Println(letters.Contains("METADATA"))
	fmt.Println(letters.Contains("PROFILE"))
	fmt.Println(keys.Range{}.Contains("PROFILE"))

	// The keys of another program, here of ElectroDB.
	fmt.Println(keys.Range{Prefix: "$ferries#booking_"}.Contains("$ferries#booking_1#id_b-1"))
	// Output:
	// true
	// false
	// true
	// true
}

func ExampleRange_Empty() {
	noon := time.Date(2024, time.January, 15, 12, 0, 0, 0, time.UTC)

	fmt.Println(keys.Tx.Between(noon, noon).Empty())
	fmt.Println(keys.Tx.Between(noon, noon.Add(time.Hour)).Empty())
	// Output:
	// true
	// false
}

func ExampleExactly() {
	r := keys.Exactly("TX#1")

	fmt.Println(r.Contains("TX#1"), r.Contains("TX#10"))
	// Output: true false
}

func ExampleParse() {
	parts, err := keys.Parse(keys.SK("TX#2024-01-15T10:05:00.000Z#a%23b"))
	if err != nil {
		fmt.Println(err)
		return
	}
	at, err := parts.Time(1)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(parts.Prefix(), at.Weekday(), parts[2])
	// Output: TX Monday a#b
}

func ExampleParts_Int() {
	parts := keys.Parts{"VERSION", "000042"}
	n, err := parts.Int(1)
	fmt.Println(n, err)

	_, err = parts.Int(2)
	fmt.Println(err)
	// Output:
	// 42 <nil>
	// keys: invalid segment 2: no such segment
}

func ExampleError() {
	err := keys.User.PK("jane\xff").Validate()

	// The message can be logged. The key is there for those who may see it.
	fmt.Println(err)
	if invalid, ok := errors.AsType[*keys.Error](err); ok {
		fmt.Printf("%s: %q\n", invalid.Part, invalid.Value)
	}
	// Output:
	// keys: invalid partition key: invalid UTF-8
	// partition key: "USER#jane\xff"
}

// ElectroDB makes these keys of an order with customerId "C-1", orderId "O-1" and status
// "Paid", in a service "shop" with a collection "statusThings".
func ExampleLabelPrefix() {
	shop, order := keys.LabelPrefix{Text: "$shop"}, keys.LabelPrefix{Text: "$order_1"}
	things := keys.LabelPrefix{Text: "$statusThings#order_1"}

	fmt.Println(shop.PK(keys.Label("customerId", "C-1")), "/", order.SK(keys.Label("orderId", "O-1")))
	fmt.Println(shop.PK(keys.Label("status", "Paid")), "/", things.SK())
	// The casing "none" of ElectroDB:
	fmt.Println(keys.LabelPrefix{Text: "$shop", KeepCase: true}.PK(keys.Label("customerId", "C-1")))
	// Output:
	// $shop#customerid_c-1 / $order_1#orderid_o-1
	// $shop#status_paid / $statusthings#order_1
	// $shop#customerId_C-1
}

func ExampleLabelPrefix_All() {
	order := keys.LabelPrefix{Text: "$order_1"}

	fmt.Println(order.All().Prefix)
	fmt.Println(order.All(keys.Label("status", "Paid")).Prefix)
	// The orders of a month, by the first letters of a value:
	fmt.Println(keys.Range{Prefix: order.SK(keys.Label("at", "2030-06"))}.Prefix)
	// Output:
	// $order_1#
	// $order_1#status_paid#
	// $order_1#at_2030-06
}

// Without escapes, both of these would be $x#a_1#b_2#b_3.
func ExampleLabel() {
	x := keys.LabelPrefix{Text: "$x"}

	fmt.Println(x.PK(keys.Label("a", "1#b_2"), keys.Label("b", "3")).Validate())
	fmt.Println(x.PK(keys.Label("a", "1"), keys.Label("b", "2#b_3")).Validate())
	fmt.Println(x.PK(keys.Label("a", "")).Validate())
	// Output:
	// keys: invalid partition key: '#' in a label or value, which its keys do not escape: two entities could share the key
	// keys: invalid partition key: '#' in a label or value, which its keys do not escape: two entities could share the key
	// keys: invalid partition key: empty segment
}

// A template of ElectroDB, "task#${title}", has no labels.
func ExampleJSLower() {
	fmt.Println(keys.PK(keys.JSLower("task#ΟΔΟΣ")))
	// Output: task#οδος
}

func ExampleJSNumber() {
	for _, n := range []float64{5, -3, 0.1, 1e-7} {
		fmt.Println(keys.LabelPrefix{Text: "$order_1"}.SK(keys.Label("total", keys.JSNumber(n))))
	}
	// Output:
	// $order_1#total_5
	// $order_1#total_-3
	// $order_1#total_0.1
	// $order_1#total_1e-7
}
