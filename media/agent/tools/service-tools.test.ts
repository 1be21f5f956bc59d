import t from 'tap'
import { ConversationRig } from '../../../fixtures/rigs/conversation-rig.js'
import type { ToolSpec } from '../agent-spec.js'
import {
  type ServiceAnswer,
  type ServiceKind,
  type ServiceRefusal,
  type ServiceRequest,
  serviceRequest,
  toolResultText,
} from './service-tools.js'

const NOW = Date.parse('2026-11-20T12:00:00Z')
const read = (kind: ServiceKind, given: Readonly<Record<string, unknown>>) => serviceRequest(kind, given, NOW)

t.test('arguments of a model become requests', async (t) => {
  t.same(read('opt_out', {}), { kind: 'opt_out', reason: '' })
  t.same(read('opt_out', { reason: ' too many calls ' }), { kind: 'opt_out', reason: 'too many calls' })
  t.same(read('transfer_call', { destination: 'dst_1', reason: 'billing', summary: 'Wants a refund.' }), {
    kind: 'transfer_call',
    destinationId: 'dst_1',
    reason: 'billing',
    note: 'Wants a refund.',
  })
  t.match(read('transfer_call', { destinationId: 7 }), { destinationId: null })
  const note = (read('transfer_call', { note: 'x'.repeat(9000) }) as { note: string }).note
  t.equal(note.length, 500)
})

t.test('the time of a callback defaults to Indian time', async (t) => {
  const at = (text: string) => {
    const request = read('schedule_callback', { at: text })
    return typeof request === 'string' ? request : new Date((request as { at: number }).at).toISOString()
  }
  t.equal(at('2026-11-21T15:30'), '2026-11-21T10:00:00.000Z')
  t.equal(at('2026-11-21 15:30:00'), '2026-11-21T10:00:00.000Z')
  t.equal(at('2026-11-21T15:30Z'), '2026-11-21T15:30:00.000Z')
  t.equal(at('2026-11-21T15:30:00+05:30'), '2026-11-21T10:00:00.000Z')
  for (const text of ['tomorrow', '', '2026-13-21T15:30', '2026-02-30T15:30', '21/11/2026 15:30']) {
    t.match(at(text), /^Failed: give the time/, text)
  }
  t.match(at('2026-11-20T17:29'), /^Failed: the time of the callback is over/)
  t.match(
    read('schedule_callback', { jab: '2026-11-21T15:30' }),
    { kind: 'schedule_callback' },
    'its one parameter',
  )
})

t.test('every result has a text that promises only what was done', async (t) => {
  const refusals: readonly ServiceRefusal[] = [
    'destination_not_verified',
    'destination_disabled',
    'outside_hours',
    'destination_not_allowed',
    'attempts_exhausted',
    'transfer_in_progress',
    'not_supported',
    'insufficient_funds',
    'call_ending',
    'time_not_allowed',
  ]
  for (const kind of ['transfer_call', 'opt_out', 'schedule_callback'] as const) {
    t.notMatch(toolResultText(kind, { status: 'done' }), /Failed/)
    const answers: readonly ServiceAnswer[] = [
      { status: 'not_available' },
      { status: 'failed' },
      ...refusals.map((refusal) => ({ status: 'refused', refusal }) as const),
    ]
    for (const answer of answers) {
      t.match(toolResultText(kind, answer), /^Failed.*(still with you|Nothing was (recorded|scheduled))\.$/)
    }
  }
})

/** A service with an opt-out list and a calendar from 9 to 21 o'clock. */
class Desk {
  readonly optedOut = new Map<string, string>()
  readonly callbacks: number[] = []

  carryOut(callId: string, request: ServiceRequest): ServiceAnswer {
    switch (request.kind) {
      case 'opt_out':
        this.optedOut.set(callId, request.reason)
        return { status: 'done' }
      case 'schedule_callback': {
        const hour = new Date(request.at + 330 * 60_000).getUTCHours()
        if (hour < 9 || hour >= 21) return { status: 'refused', refusal: 'time_not_allowed' }
        this.callbacks.push(request.at)
        return { status: 'done' }
      }
      case 'transfer_call':
        return { status: 'refused', refusal: 'outside_hours' }
    }
  }
}

const preset = (kind: ServiceKind, parameters: readonly string[] = []): ToolSpec => ({
  name: kind,
  description: kind,
  parameters: parameters.map((name) => ({ name, description: name, type: 'string', required: true })),
  speech: { 'en-IN': 'One second.' },
  action: { kind },
})

t.test('a caller opts out: it is recorded, and the model confirms it', async (t) => {
  const desk = new Desk()
  const tools = [preset('opt_out'), preset('transfer_call'), preset('schedule_callback', ['at'])]
  const rig = new ConversationRig({ spec: { tools }, services: true })
  await rig.start()
  const answers = async (said: string, name: ServiceKind, given: Readonly<Record<string, unknown>>) => {
    const turns = rig.turns('agent').length
    rig.modelScripts.push([
      { after: 50, tools: [{ id: `c${turns}`, name, arguments: given }] },
      { after: 0, done: true },
    ])
    const asked = rig.toolRequests.length
    rig.callerSound(200, { ms: 900, text: said })
    await rig.until(() => rig.toolRequests.length === asked + 1)
    const latest = rig.toolRequests.at(-1)
    if (latest === undefined) throw new Error('nothing was asked')
    const { request, done } = latest
    t.match(request, { tool: name, arguments: given })
    // The service takes a moment, so the filler is heard.
    await rig.run(500)
    const read = serviceRequest(name, request.arguments, NOW)
    done(typeof read === 'string' ? read : toolResultText(name, desk.carryOut('call_1', read)))
    await rig.until(() => rig.turns('agent').length === turns + 1)
    return rig.requests.at(-1)?.messages.at(-1)?.content
  }
  t.match(await answers('Do not call me again.', 'opt_out', { reason: 'asked' }), /^Recorded/)
  t.same([...desk.optedOut], [['call_1', 'asked']])
  t.match(rig.turns('agent')[0]?.text, /^One second\. Answer/, 'a word while it is being done')
  t.match(
    await answers('Call me at night.', 'schedule_callback', { at: '2026-11-21T23:00' }),
    /time_not_allowed/,
  )
  t.match(await answers('Then at four.', 'schedule_callback', { at: '2026-11-21T16:00' }), /^Scheduled/)
  t.same(desk.callbacks, [Date.parse('2026-11-21T10:30:00Z')])
  t.match(await answers('Give me a person.', 'transfer_call', {}), /outside_hours.*still with you/)
  t.equal(rig.close(), 0)
})
