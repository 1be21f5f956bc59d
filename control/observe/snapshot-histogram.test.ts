import { Registry } from 'prom-client'
import t from 'tap'
import { SnapshotHistogram } from './snapshot-histogram.js'

t.test('snapshots are rendered as a cumulative histogram', async (t) => {
  const registry = new Registry()
  const histogram = new SnapshotHistogram({
    name: 'c_seconds',
    help: 'C.',
    labelNames: ['worker'],
    buckets: [0.1, 1],
    registry,
  })
  histogram.add({ worker: '0' }, [1, 0, 2], 7)
  const lines = [
    '# HELP c_seconds C.',
    '# TYPE c_seconds histogram',
    'c_seconds_bucket{worker="0",le="0.1"} 1',
    'c_seconds_bucket{worker="0",le="1"} 1',
    'c_seconds_bucket{worker="0",le="+Inf"} 3',
    'c_seconds_sum{worker="0"} 7',
    'c_seconds_count{worker="0"} 3',
  ]
  t.same((await registry.metrics()).trimEnd().split('\n'), lines)
  histogram.clear()
  t.same((await registry.metrics()).trimEnd().split('\n'), lines.slice(0, 2))
})
