import { accessOperations } from './access/api.js'
import type { Operation } from './http/operation.js'
import { health, openApi, ready } from './system/api.js'

/** Everything the API can do. Routing, checks and the API description all come from this list. */
export const operations: readonly Operation[] = [
  ...accessOperations,
  openApi(() => operations),
  health,
  ready,
]
