import { textOperation } from '../http/operation.js'

export const readMetrics = textOperation({
  id: 'readMetrics',
  path: '/v1/metrics',
  tag: 'System',
  summary: 'Metrics in the text format of Prometheus, for the operator.',
  audience: 'operator',
  contentType: 'text/plain; version=0.0.4; charset=utf-8',
  fails: [],
  run: ({ deps }) => deps.telemetry.metrics(),
})
