import type { Deps } from '../api/deps.js'
import type { JobHandler } from '../jobs/runner.js'
import { routeNumber, settlePurchase } from './purchase.js'
import { PURCHASE_JOB, ROUTE_JOB } from './purchase-store.js'
import { RELEASE_JOB } from './release.js'

type JobDeps = Pick<Deps, 'db' | 'clock' | 'log' | 'carriers'>

/** A carrier that does not answer is asked again after this time (ms). */
export const AGAIN_MS = 5 * 60_000

/** Background work on numbers: purchases without an outcome, routing, and releases at the carrier. */
export function numberHandlers(deps: JobDeps): readonly JobHandler[] {
  const { db, clock, carriers } = deps
  const handler = (kind: string, run: (numberId: string) => Promise<number | null>): JobHandler => ({
    kind,
    concurrency: 4,
    async run({ payload }) {
      const again = await run(payload)
      return async () => again
    },
  })
  return [
    handler(PURCHASE_JOB, (id) => settlePurchase(deps, id)),
    handler(ROUTE_JOB, async (id) => {
      const number = await numberOf(id)
      if (number === null || number.releasedAt !== null || !['pending', 'error'].includes(number.inbound))
        return null
      return (await routeNumber(deps, number)) ? null : clock.wall() + AGAIN_MS
    }),
    handler(RELEASE_JOB, async (id) => {
      const number = await numberOf(id)
      const carrier = number === null ? null : carriers.find(number.environment, number.provider)
      if (number === null || carrier === null) return null
      const { e164, carrierNumberId } = number
      const released = await carriers.ask(carrier, 30_000, (signal) =>
        carrier.release({ e164, carrierNumberId }, signal),
      )
      if (released.ok) return null
      const { code, reason } = released
      deps.log.error({ numberId: id, provider: carrier.provider, code, reason }, 'number.release_failed')
      return clock.wall() + AGAIN_MS
    }),
  ]

  async function numberOf(id: string) {
    return (await db.selectFrom('numbers').selectAll().where('id', '=', id).executeTakeFirst()) ?? null
  }
}
