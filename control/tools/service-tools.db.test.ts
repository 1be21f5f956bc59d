import t from 'tap'
import { dataOf, openTestCalling } from '../../fixtures/api/calling.js'
import { onEachDialect } from '../../fixtures/database/databases.js'
import type { ToolSpec } from '../../media/agent/agent-spec.js'
import type { ServiceAnswer, ServiceRequest, ServiceTools } from '../../media/agent/tools/service-tools.js'
import { silentLog } from '../../media/base/log.js'
import { rootKeyOf } from '../base/root-key.js'
import type { Db } from '../db/database.js'
import { openEgress } from '../net/egress.js'
import { openAgentTools } from './runner.js'
import { serviceTools } from './service-tools.js'

const preset = (kind: 'transfer_call' | 'opt_out' | 'schedule_callback'): ToolSpec => ({
  name: `my_${kind}`,
  description: kind,
  parameters: [],
  speech: {},
  action: { kind },
})

/** Does what it is asked with the call's own row, as the parts of the service will. */
class CallDesk implements ServiceTools {
  readonly requests: ServiceRequest[] = []
  readonly optedOut: string[] = []
  readonly #db: Db

  constructor(db: Db) {
    this.#db = db
  }

  async carryOut(callId: string, request: ServiceRequest): Promise<ServiceAnswer> {
    this.requests.push(request)
    const call = await this.#db
      .selectFrom('calls')
      .select(['direction', 'fromNumber', 'toNumber', 'status'])
      .where('id', '=', callId)
      .executeTakeFirstOrThrow()
    if (request.kind === 'transfer_call') {
      return call.status === 'in_progress'
        ? { status: 'done' }
        : { status: 'refused', refusal: 'call_ending' }
    }
    if (request.kind === 'schedule_callback') return { status: 'not_available' }
    this.optedOut.push(call.direction === 'inbound' ? call.fromNumber : call.toNumber)
    return { status: 'done' }
  }
}

await onEachDialect(t, async (t, open) => {
  const database = await open()
  const calling = await openTestCalling(database)
  await calling.publishAgent()
  const placed = await calling.send('POST', '/v1/calls', {
    json: { to: '+919876543210', numberId: calling.numberId },
  })
  const callId = String(dataOf(placed).id)
  const desk = new CallDesk(database.db)
  const egress = openEgress({ allowPrivate: false })
  const toolsOf = (own: ServiceTools) =>
    openAgentTools({
      db: database.db,
      rootKey: rootKeyOf(Buffer.alloc(32, 7)),
      egress,
      clock: calling.clock,
      knowledge: calling.deps.knowledge,
      log: silentLog,
      services: own,
    })
  const tools = toolsOf(desk)

  t.match(await tools.run(callId, preset('opt_out'), { reason: 'asked for it' }), /^Recorded/)
  t.same(desk.optedOut, ['+919876543210'], 'the person of an outbound call')
  t.same(desk.requests, [{ kind: 'opt_out', reason: 'asked for it' }])
  t.match(await tools.run(callId, preset('transfer_call'), {}), /^Failed \(call_ending\)/)
  await calling.emitCallEvent(callId, { type: 'answered' })
  t.match(await tools.run(callId, preset('transfer_call'), { destination: 'dst_1' }), /being handed over/)
  t.match(desk.requests.at(-1), { destinationId: 'dst_1' })
  const count = desk.requests.length
  t.match(await tools.run(callId, preset('schedule_callback'), { at: 'soon' }), /give the time/)
  t.equal(desk.requests.length, count, 'what cannot be read is not asked for')
  t.match(
    await tools.run('call_nobody', preset('opt_out'), {}),
    /^Failed: something went wrong.*Nothing was recorded/,
  )

  // Without a desk, the service tools refuse.
  const later = toolsOf(serviceTools({}))
  t.match(await later.run(callId, preset('opt_out'), {}), /cannot be recorded in this release/)
  t.match(await later.run(callId, preset('transfer_call'), {}), /cannot be transferred in this release/)
  t.match(
    await later.run(callId, preset('schedule_callback'), { at: '2099-01-01T12:00' }),
    /cannot be scheduled in this release/,
  )
  egress.close()
  await calling.close()
})
