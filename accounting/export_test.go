package accounting

const DeltaUnits = deltaUnits

var One = one
