import t from 'tap'
import { Counter, Gauge, Histogram } from './metric-registry.js'

t.test('counters and gauges', (t) => {
  const counter = new Counter('a_total', 'All of a.')
  counter.add({ operation: 'x', status: '200' })
  counter.add({ operation: 'x', status: '200' }, 2)
  counter.add({})
  t.equal(
    counter.render(),
    '# HELP a_total All of a.\n# TYPE a_total counter\na_total{operation="x",status="200"} 3\na_total 1\n',
  )
  const gauge = new Gauge('b', 'B.')
  gauge.set({ text: 'a "quoted"\nline \\' }, 0.5)
  t.equal(gauge.render(), '# HELP b B.\n# TYPE b gauge\nb{text="a \\"quoted\\"\\nline \\\\"} 0.5\n')
  gauge.clear()
  t.equal(gauge.render(), '# HELP b B.\n# TYPE b gauge\n')
  t.end()
})

t.test('histograms count cumulatively, bounds included', (t) => {
  const histogram = new Histogram('c_seconds', 'C.', [0.1, 1])
  for (const value of [0.05, 0.1, 0.5, 3]) histogram.observe({ operation: 'x' }, value)
  t.same(histogram.render().split('\n').slice(2), [
    'c_seconds_bucket{operation="x",le="0.1"} 2',
    'c_seconds_bucket{operation="x",le="1"} 3',
    'c_seconds_bucket{operation="x",le="+Inf"} 4',
    'c_seconds_sum{operation="x"} 3.65',
    'c_seconds_count{operation="x"} 4',
    '',
  ])
  histogram.clear()
  histogram.replace({}, [1, 0, 2], 7)
  t.match(histogram.render(), 'c_seconds_bucket{le="+Inf"} 3\nc_seconds_sum 7\nc_seconds_count 3\n')
  t.end()
})
