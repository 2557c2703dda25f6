package main

import (
	"os"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// draw writes the answer as an SVG file.
func (a answer) draw(path string) error {
	p := plot.New()
	p.X.Label.Text, p.Y.Label.Text = a.x, a.y+", with error bars"
	at := a.places(p)
	var values plotter.XYs
	var bars errorBars
	for i, q := range a.points {
		values = append(values, plotter.XY{X: at[i], Y: q.value.Float64})
		if q.low.Valid && q.high.Valid { // around the middle, which need not be the value
			half := (q.high.Float64 - q.low.Float64) / 2
			bars.XYs = append(bars.XYs, plotter.XY{X: at[i], Y: q.low.Float64 + half})
			bars.YErrors = append(bars.YErrors, struct{ Low, High float64 }{half, half})
		}
	}
	points, err := plotter.NewScatter(values)
	if err != nil {
		return err
	}
	p.Add(plotter.NewGrid())
	if len(bars.XYs) > 0 {
		whiskers, err := plotter.NewYErrorBars(bars)
		if err != nil {
			return err
		}
		p.Add(whiskers)
	}
	points.Shape, points.Radius = draw.CircleGlyph{}, vg.Points(1.5)
	p.Add(points)
	canvas := vgsvg.New(16*vg.Centimeter, 10*vg.Centimeter)
	const space = 14 // points, so that no tick at an end is cut off
	p.Draw(draw.Crop(draw.New(canvas), 0, -space, 0, -space))
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	_, err = canvas.WriteTo(f)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	return err
}

// places returns where the points lie on the x axis: at their numbers, or one
// after another, with their labels, where not all are numbers.
func (a answer) places(p *plot.Plot) []float64 {
	at := make([]float64, len(a.points))
	labels := make([]string, len(a.points))
	numbers := true
	for i, q := range a.points {
		var err error
		at[i], err = strconv.ParseFloat(q.label, 64)
		numbers, labels[i] = numbers && err == nil, q.label
	}
	if numbers {
		return at
	}
	for i := range at {
		at[i] = float64(i)
	}
	p.NominalX(labels...)
	return at
}

// errorBars are the intervals of points, as the plotter takes them.
type errorBars struct {
	plotter.XYs
	plotter.YErrors
}
