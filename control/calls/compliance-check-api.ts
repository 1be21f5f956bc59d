import { z } from 'zod'
import { newId } from '../../media/base/ids.js'
import { asPurpose, findAgent } from '../agents/store.js'
import type { Deps } from '../api/deps.js'
import { operation } from '../api/operation.js'
import { isRefusal, refuse } from '../api/problem.js'
import { Instant, parseInstant } from '../base/instant.js'
import { E164, Timestamp, timestampOrNull } from '../base/schemas.js'
import { istDate, type Purpose } from '../compliance/calling-hours.js'
import { CHECK_TYPES, type GateRequest } from '../compliance/check.js'
import { insertChecks } from '../compliance/check-store.js'
import { ComplianceCheck, checkView } from '../compliance/check-view.js'
import { answerRegister } from '../compliance/clearance.js'
import { foreseeRegister } from '../compliance/dnd/ask-register.js'
import { gateFacts } from '../compliance/facts.js'
import { BLOCK_CODES, decide, undecidedChecks } from '../compliance/gate.js'
import { type NamedRefusal, namedNumber } from '../numbers/named-number.js'
import type { Owner } from '../numbers/store.js'
import { readOrganizationRows } from '../organization/profile-store.js'

const PURPOSES = ['promotional', 'service', 'transactional', 'collections'] as const

const Verdict = z.object({
  allowed: z.boolean(),
  code: z.enum([...BLOCK_CODES, 'validation_error']).nullable(),
  checkType: z.enum(CHECK_TYPES).nullable(),
  undecided: z.array(z.enum(CHECK_TYPES)).meta({
    description:
      'Checks that could not be made, because the answer of the DND register or the caller ID is missing. The call is decided on with both, and they may still refuse it.',
  }),
  nextAllowedAt: Timestamp.nullable(),
  runId: z.string(),
  checks: z.array(ComplianceCheck),
})

const Question = z.strictObject({
  e164: E164,
  purpose: z.enum(PURPOSES).optional(),
  numberId: z.string().max(40).optional(),
  agentId: z.string().max(40).optional(),
  at: Instant.optional(),
})
type Question = z.output<typeof Question>

export const checkCompliance = operation({
  id: 'checkCompliance',
  method: 'post',
  path: '/v1/compliance/check',
  tag: 'Compliance',
  summary: 'Check whether a number may be called',
  description:
    'Runs the checks of a call at `at` (default: now) and places none. The purpose is that of the agent, else that of the organization. Without `numberId` the checks of the caller ID are not made. A refusal is a verdict with status 200; 402 means that the wallet is on hold or does not cover the fee of the DND register. For another day only a scrub that is valid then answers for the DND register. `undecided` lists the checks that could not be made: `allowed` does not speak for them.',
  audience: 'key',
  scope: 'write',
  body: Question,
  status: 200,
  result: Verdict,
  fails: ['not_found', 'environment_mismatch', 'unprocessable_entity', 'insufficient_funds'],
  run: async ({ body, actor, deps }) => {
    const owner = { organizationId: actor.organizationId, environment: actor.environment }
    const asked = await questionOf(deps, owner, body)
    if (isRefusal(asked)) return asked
    const now = deps.clock.wall()
    const at = body.at === undefined ? now : (parseInstant(body.at) ?? now)
    const today = istDate(at) === istDate(now)
    // A question to the service of the operator is answered, and paid, for the current day only.
    const runId = newId('run', now)
    const paid = !today || (await answerRegister(deps, asked, runId, now, at))
    const known = await gateFacts(deps.db, deps, asked, now)
    if (known.wallet !== null && (known.wallet.onHold || !paid)) {
      const { balancePaise, minBalancePaise, onHold } = known.wallet
      const message = onHold
        ? 'The wallet is on hold.'
        : 'The wallet does not cover the fee of the DND register.'
      return refuse('insufficient_funds', message, { balancePaise, minBalancePaise, onHold })
    }
    const facts = today
      ? known
      : {
          ...known,
          register: await foreseeRegister(deps.db, asked.gate.to, {
            ...owner,
            ...{ purpose: asked.gate.purpose, peId: known.sender.peId, at },
          }),
          ...(at > now ? { registerDay: 'later' as const } : {}),
        }
    const verdict = decide(asked.gate, facts, at)
    const run = {
      runId,
      organizationId: owner.organizationId,
      callId: null,
      request: asked.gate,
      checks: verdict.checks,
      at: now,
    }
    const rows = await deps.db.transaction().execute((trx) => insertChecks(trx, run))
    return {
      allowed: verdict.allow,
      code: verdict.allow ? null : verdict.code,
      checkType: verdict.allow ? null : verdict.deciding.type,
      undecided: [...undecidedChecks(verdict.checks)],
      nextAllowedAt: verdict.allow ? null : timestampOrNull(verdict.nextAllowedAt),
      runId,
      checks: rows.map(checkView),
    }
  },
})

/** Returns what the gate is asked, or a refusal when the number or the agent does not exist. */
async function questionOf(
  { db }: Pick<Deps, 'db'>,
  owner: Owner,
  { e164, purpose, numberId, agentId }: Question,
): Promise<{ organizationId: string; from: string | null; gate: GateRequest } | NamedRefusal> {
  const missing = (resource: string, path: string) =>
    refuse('not_found', `The ${resource} does not exist. Correct ${path}.`, { resource, path })
  const number = numberId === undefined ? null : await namedNumber(db, owner, numberId)
  if (isRefusal(number)) return number
  const agent = agentId === undefined ? null : await findAgent(db, owner.organizationId, agentId)
  if (agentId !== undefined && agent === null) return missing('agent', 'agentId')
  const stated: Purpose | null = purpose ?? (agent === null ? null : asPurpose(agent.purpose))
  const classified = async () =>
    asPurpose(
      (await readOrganizationRows(db, owner.organizationId))?.organization.senderClassification ?? null,
    )
  return {
    organizationId: owner.organizationId,
    from: number?.e164 ?? null,
    gate: {
      to: e164,
      environment: owner.environment,
      purpose: stated ?? (await classified()),
      trigger: 'manual',
    },
  }
}
