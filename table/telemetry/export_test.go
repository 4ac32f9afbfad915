package telemetry

import "reflect"

// SketchSize is the number of bytes that counts of partition keys take.
var SketchSize = reflect.TypeFor[sketch]().Size()
