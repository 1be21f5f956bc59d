import { z } from 'zod'
import { operation } from '../api/operation.js'
import { readPoolUse } from '../calls/placement/call-slots.js'

const Pool = z.object({ inUse: z.int(), limit: z.int() })

const Limits = z.object({
  environment: z.enum(['test', 'live']),
  requests: z.object({ limitPerMinute: z.int(), remaining: z.int() }),
  concurrency: z.object({ agentCalls: Pool, byoCalls: Pool }),
})

export const readLimits = operation({
  id: 'readLimits',
  method: 'get',
  path: '/v1/limits',
  tag: 'Wallet and limits',
  summary: 'Get the request budget and the concurrent call limits',
  description: 'Shows how much of each is in use.',
  audience: 'key',
  scope: 'read',
  status: 200,
  result: Limits,
  fails: [],
  run: async ({ actor, deps }) => {
    const { environment } = actor
    const budget = await deps.requests.peek(actor)
    const concurrency = await readPoolUse(deps.db, actor, deps.clock.wall())
    return {
      environment,
      requests: { limitPerMinute: budget.limit, remaining: budget.remaining },
      concurrency,
    }
  },
})
