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
	var bars errorBars
	for i, q := range a.points {
		bars.XYs = append(bars.XYs, plotter.XY{X: at[i], Y: q.count})
		m := q.margin.Float64 // 0 where it is NULL
		bars.YErrors = append(bars.YErrors, struct{ Low, High float64 }{m, m})
	}
	points, err := plotter.NewScatter(bars.XYs)
	if err != nil {
		return err
	}
	whiskers, err := plotter.NewYErrorBars(bars)
	if err != nil {
		return err
	}
	points.Shape, points.Radius = draw.CircleGlyph{}, vg.Points(1.5)
	p.Add(plotter.NewGrid(), whiskers, points)
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

// errorBars are points with margins, as the plotter takes them.
type errorBars struct {
	plotter.XYs
	plotter.YErrors
}
