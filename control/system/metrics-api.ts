import { textOperation } from '../api/operation.js'

export const readMetrics = textOperation({
  id: 'readMetrics',
  path: '/v1/metrics',
  tag: 'System',
  summary: 'Get metrics',
  description: 'Metrics for the operator, in the Prometheus text format.',
  audience: 'operator',
  contentType: 'text/plain; version=0.0.4; charset=utf-8',
  fails: [],
  run: ({ deps }) => deps.telemetry.metrics(),
})
