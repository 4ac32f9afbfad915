package simulate

import "errors"

// Prices are dollars of one Region.
type Prices struct {
	Region string `json:"region"`
	// Date is when they were taken from Source.
	Date   string `json:"date"`
	Source string `json:"source"`
	// ReadMillion and WriteMillion are of a million units on demand, ReadHour and WriteHour of
	// a provisioned unit for an hour, and GBMonth of a GB that is stored for a month.
	ReadMillion  float64 `json:"readMillion"`
	WriteMillion float64 `json:"writeMillion"`
	ReadHour     float64 `json:"readHour"`
	WriteHour    float64 `json:"writeHour"`
	GBMonth      float64 `json:"gbMonth"`
}

// USEast are the list prices of us-east-1, without reserved capacity and the free tier.
func USEast() Prices {
	return Prices{
		Region: "us-east-1", Date: "2024-11-01", Source: "Amazon DynamoDB pricing, table class Standard",
		ReadMillion: 0.125, WriteMillion: 0.625, ReadHour: 0.00013, WriteHour: 0.00065, GBMonth: 0.25,
	}
}

// Check returns an error if a price is missing, or where the prices are from.
func (p Prices) Check() error {
	const most = 1e9
	for _, f := range []float64{p.ReadMillion, p.WriteMillion, p.ReadHour, p.WriteHour, p.GBMonth} {
		if !(f > 0 && f <= most) {
			return errors.New("prices need readMillion, writeMillion, readHour, writeHour and gbMonth, in dollars above 0")
		}
	}
	if p.Region == "" || p.Date == "" || p.Source == "" {
		return errors.New("prices need a region, a date and a source")
	}
	return nil
}

// Costs are dollars a month.
type Costs struct {
	// Patterns and Places have a row each; the place "" is the table.
	Patterns []Cost  `json:"patterns"`
	Places   []Cost  `json:"places"`
	Storage  float64 `json:"storage"`
	Total    float64 `json:"total"`
}

// Cost is what one pattern or place takes.
type Cost struct {
	Name string `json:"name"`
	// Units are of one time that a pattern happens, of a place in a second.
	Units   Units   `json:"units"`
	Dollars float64 `json:"dollars"`
}

// hoursOfMonth is as AWS counts.
const hoursOfMonth = 730

// Month returns what a load costs if it is the same all month, times a factor.
func Month(l Load, factor float64, p Prices) Costs {
	c := Costs{Storage: l.StoredGB * p.GBMonth}
	dollars := func(u Units) float64 { // of units a second
		seconds := float64(hoursOfMonth * 3600)
		return (u.Read*p.ReadMillion + u.Write*p.WriteMillion) / 1e6 * seconds * factor
	}
	perPattern := make([]Units, len(l.Patterns))
	for _, d := range l.demands() {
		for _, u := range d.uses {
			perPattern[u.pattern].Read += u.rate * u.units.Read
			perPattern[u.pattern].Write += u.rate * u.units.Write
		}
		row := Cost{Name: d.place, Units: d.total(), Dollars: dollars(d.total())}
		c.Places = append(c.Places, row)
		c.Total += row.Dollars
	}
	for i, pattern := range l.Patterns {
		u := perPattern[i]
		c.Patterns = append(c.Patterns, Cost{pattern.Name, Units{u.Read / pattern.Rate, u.Write / pattern.Rate}, dollars(u)})
	}
	if l.Provisioned.Read > 0 { // which is paid for whether it is used or not
		c.Total = 0
		for i := range c.Places {
			c.Places[i].Dollars = (l.Provisioned.Read*p.ReadHour + l.Provisioned.Write*p.WriteHour) * hoursOfMonth
			c.Total += c.Places[i].Dollars
		}
	}
	c.Total += c.Storage
	return c
}
