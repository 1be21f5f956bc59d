import { z } from 'zod'
import { operation } from '../api/operation.js'
import { openEnum } from '../base/schemas.js'
import { readPoolUse } from '../calls/placement/call-slots.js'
import { findProblems, PROBLEM_CODES } from './problems.js'
import { countDays, countRunningCampaigns, DAYS, sumUpLatency } from './store.js'

const MaybeMs = z.int().nullable()

const Overview = z.object({
  running: z.object({ calls: z.int(), limit: z.int(), campaigns: z.int() }),
  days: z
    .array(
      z.object({
        day: z.string().meta({ description: 'In India, `YYYY-MM-DD`.' }),
        calls: z.int(),
        answered: z.int(),
        failed: z.int(),
        seconds: z.int().meta({ description: 'Billed seconds.' }),
        billedPaise: z.int(),
      }),
    )
    .meta({ description: `The last ${DAYS} days, today last.` }),
  latency: z
    .object({
      calls: z.int(),
      firstAudioMs: MaybeMs,
      turnP50Ms: MaybeMs,
      turnP95Ms: MaybeMs.meta({ description: 'The 95th percentile of that of the calls.' }),
    })
    .meta({ description: 'Of at most 1,000 calls of the last 24 hours: the median of their values.' }),
  problems: z.array(
    z.object({
      code: openEnum(...PROBLEM_CODES),
      subject: z
        .object({
          type: openEnum('trunk', 'endpoint', 'campaign', 'number'),
          id: z.string(),
          label: z.string(),
        })
        .nullable()
        .meta({ description: 'Null concerns the whole organization.' }),
      detail: z.string().nullable(),
      reason: z
        .string()
        .nullable()
        .meta({ description: 'Why, as a code. Null if `detail` is only a sentence, or unknown.' }),
      counts: z
        .record(z.string(), z.int())
        .meta({ description: 'The numbers of `detail`: `failed` and `calls`, `attempts` or `events`.' }),
      remedy: z.string(),
    }),
  ),
})

export const readOverview = operation({
  id: 'readOverview',
  method: 'get',
  path: '/v1/overview',
  tag: 'Calls',
  summary: 'Get counts, latency, cost and problems at one look',
  description:
    'What runs now, the calls of each of the last eight days, the reply times of the last 24 hours, and what is wrong, each with its remedy.',
  audience: 'key',
  scope: 'read',
  status: 200,
  result: Overview,
  fails: [],
  run: async ({ actor, deps }) => {
    const { reads, clock } = deps
    const now = clock.wall()
    const [pools, campaigns, days, latency, resting] = await Promise.all([
      readPoolUse(deps.db, actor, now),
      countRunningCampaigns(reads, actor),
      countDays(reads, actor, now),
      sumUpLatency(reads, actor, now),
      deps.openCircuits(),
    ])
    const today = days.at(-1)
    if (today === undefined) throw new Error('there is no day')
    const { agentCalls, byoCalls } = pools
    return {
      running: {
        calls: agentCalls.inUse + byoCalls.inUse,
        limit: agentCalls.limit + byoCalls.limit,
        campaigns,
      },
      days: [...days],
      latency,
      problems: [...(await findProblems(deps.db, actor, { today, resting, now }))],
    }
  },
})
