package report

import (
	"fmt"
	"image/color"
	"io"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// Chart is a plot of lines over logarithmic axes.
type Chart struct {
	Name   string // of its file, without an extension
	Title  string
	X, Y   string // what the axes show
	Series []Series
}

// Series is one line. Its points are in ascending order of X.
type Series struct {
	Name   string
	Points []Point
	Dashed bool // a reference line: no marks
}

// Point is one measurement; Y and its interval in the axis's unit.
type Point struct {
	X float64
	Y Estimate
}

// Add appends a point to the series of that name.
func (c *Chart) Add(series string, x float64, y Estimate) {
	c.add(series, x, y, false)
}

// Refer appends a point to a reference line.
func (c *Chart) Refer(series string, x, y float64) {
	c.add(series, x, Estimate{Mean: y, Half: math.NaN()}, true)
}

func (c *Chart) add(series string, x float64, y Estimate, dashed bool) {
	for i := range c.Series {
		if c.Series[i].Name == series {
			c.Series[i].Points = append(c.Series[i].Points, Point{x, y})
			return
		}
	}
	c.Series = append(c.Series, Series{series, []Point{{x, y}}, dashed})
}

// colours are told apart by people who do not see all of them (Okabe and Ito),
// and the marks differ too.
var colours = []color.RGBA{
	{0, 114, 178, 255}, {213, 94, 0, 255}, {0, 158, 115, 255}, {204, 121, 167, 255}, {86, 180, 233, 255},
	{230, 159, 0, 255}, {90, 90, 90, 255}, {140, 80, 20, 255}, {0, 0, 0, 255},
}

var marks = []draw.GlyphDrawer{
	draw.CircleGlyph{}, draw.SquareGlyph{}, draw.TriangleGlyph{}, draw.CrossGlyph{}, draw.PlusGlyph{}, draw.RingGlyph{}, draw.BoxGlyph{},
	draw.PyramidGlyph{},
}

// SVG writes the chart.
func (c *Chart) SVG(w io.Writer) error {
	p, err := c.plot()
	if err != nil {
		return err
	}
	canvas := vgsvg.NewWith(vgsvg.UseWH(17*vg.Centimeter, 11*vg.Centimeter))
	p.Draw(draw.New(canvas))
	_, err = canvas.WriteTo(w)
	return err
}

func (c *Chart) plot() (*plot.Plot, error) {
	p := plot.New()
	p.Title.Text = c.Title
	p.X.Label.Text, p.Y.Label.Text = c.X, c.Y
	p.X.Scale, p.Y.Scale = plot.LogScale{}, plot.LogScale{}
	p.X.Tick.Marker, p.Y.Tick.Marker = ticks{}, ticks{}
	p.Legend.Top, p.Legend.Left = true, true
	p.Legend.TextStyle.Font.Size = vg.Points(8)
	grid := plotter.NewGrid()
	grid.Vertical.Color, grid.Horizontal.Color = color.Gray{225}, color.Gray{225}
	p.Add(grid)
	for i, s := range c.Series {
		if err := s.draw(p, i); err != nil {
			return nil, fmt.Errorf("%s, %s: %w", c.Name, s.Name, err)
		}
	}
	// Room above the lines for the legend.
	p.Y.Max *= math.Pow(p.Y.Max/p.Y.Min, 0.05+0.055*float64(len(c.Series)))
	return p, nil
}

// draw adds a line with its marks and intervals.
func (s Series) draw(p *plot.Plot, i int) error {
	points := make(plotter.XYs, 0, len(s.Points))
	var bars errorBars
	for _, q := range s.Points {
		if q.Y.Mean == 0 {
			continue // it has no place on the axis; the table has it
		}
		if !(q.X > 0 && q.Y.Mean > 0) {
			return fmt.Errorf("(%v, %v) cannot lie on logarithmic axes", q.X, q.Y.Mean)
		}
		points = append(points, plotter.XY{X: q.X, Y: q.Y.Mean})
		half := min(q.Y.Half, 0.9*q.Y.Mean) // an interval down to 0 has no place on the axis
		if half > 0 {
			bars.XYs = append(bars.XYs, plotter.XY{X: q.X, Y: q.Y.Mean})
			bars.YErrors = append(bars.YErrors, struct{ Low, High float64 }{half, q.Y.Half})
		}
	}
	if len(points) == 0 {
		return nil
	}
	line, marked, err := plotter.NewLinePoints(points)
	if err != nil {
		return err
	}
	c := colours[i%len(colours)]
	line.Color, marked.Color = c, c
	line.Width = vg.Points(1.2)
	marked.Shape, marked.Radius = marks[i%len(marks)], vg.Points(2.5)
	if s.Dashed {
		line.Dashes = []vg.Length{vg.Points(4), vg.Points(3)}
		p.Add(line)
		p.Legend.Add(s.Name, line)
		return nil
	}
	p.Add(line, marked)
	p.Legend.Add(s.Name, line, marked)
	if len(bars.XYs) == 0 {
		return nil
	}
	whiskers, err := plotter.NewYErrorBars(bars)
	if err != nil {
		return err
	}
	whiskers.Color = c
	p.Add(whiskers)
	return nil
}

// errorBars are points with intervals, as the plotter takes them.
type errorBars struct {
	plotter.XYs
	plotter.YErrors
}

// ticks labels the powers of ten, or every so many of them, and on short axes
// the steps 2 and 5 between them.
type ticks struct{}

// Ticks implements plot.Ticker.
func (ticks) Ticks(low, high float64) (marks []plot.Tick) {
	first, last := math.Floor(math.Log10(low)), math.Ceil(math.Log10(high))
	every := max(1, math.Ceil((last-first)/8))
	for e := first; e <= last; e++ {
		for _, step := range []float64{1, 2, 5} {
			v := step * math.Pow(10, e)
			if v < low*(1-1e-9) || v > high*(1+1e-9) {
				continue
			}
			label := ""
			if step == 1 && math.Mod(e-first, every) == 0 || last-first <= 2 {
				label = short(v)
			}
			marks = append(marks, plot.Tick{Value: v, Label: label})
		}
	}
	return marks
}

func short(v float64) string {
	if v >= 1e5 || v < 1e-3 {
		return fmt.Sprintf("%.0e", v)
	}
	return fmt.Sprintf("%g", float64(float32(v)))
}
