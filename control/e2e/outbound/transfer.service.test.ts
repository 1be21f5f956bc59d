import t from 'tap'
import { call as dial } from '../../../fixtures/service/caller.js'
import { type Json, openService } from '../../../fixtures/service/service.js'

/* Transfers of the whole service: REST requests, real SIP and RTP to a simulated caller and simulated persons. */

const PERSON = '+9190000000'

t.test(
  'a call is handed to a person, and comes back when nobody is there',
  { timeout: 120_000 },
  async (t) => {
    const service = await openService(t, { virtual: true })
    const data = async (method: string, path: string, body?: Json) => {
      const answer = await service.send(method, path, body)
      t.ok(answer.status < 300, `${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`)
      return answer.body.data as Json
    }
    const destination = async (key: string, suffix: string) => {
      const { id } = await data('POST', '/v1/transfer-destinations', {
        key,
        label: key,
        e164: `${PERSON}${suffix}`,
      })
      await data('POST', `/v1/transfer-destinations/${id}/verify`, {})
      await data('POST', `/v1/transfer-destinations/${id}/confirm`, { code: '000000' })
      return String(id)
    }
    // The one presses 1, the other is busy.
    const desk = await destination('desk', '12')
    const busy = await destination('busy', '02')
    const agentId = await service.publishAgent({
      name: 'Asha',
      callSettings: {
        nudges: { enabled: false },
        transfer: {
          defaultDestinationId: desk,
          destinations: [{ destinationId: desk }, { destinationId: busy }],
          afterMissLine: { text: 'Nobody is there.' },
          recordHumanSegment: true,
        },
      },
    })
    const begin = async () => {
      const callId = await service.call(`${PERSON}11`, { agentId })
      await service.until('a greeting', () => service.of(callId, 'turn').length > 0)
      return callId
    }
    const ask = (callId: string, body: Json = {}) => data('POST', `/v1/calls/${callId}/transfer`, body)

    const first = await begin()
    t.match(await ask(first), { accepted: true, transfer: { mode: 'screened', status: 'accepted' } })
    t.match(await ask(first), { accepted: false, refusal: 'transfer_in_progress' })
    const call = await service.ended(first)
    t.match(call, {
      endedReason: 'transfer_completed',
      charges: [{ kind: 'agent' }, { kind: 'human', ratePaisePerMinute: 200 }],
      transfer: { status: 'completed', outcome: 'connected', hasRecording: true, hasReturnRecording: false },
    })
    const { id } = call.transfer as Json
    t.match(await data('GET', `/v1/calls/${first}/transfers/${id}/recording`), { channels: 2 })

    const second = await begin()
    await ask(second, { destinationId: 'busy' })
    await service.until('the busy tone', () =>
      service.of(second, 'transfer').some(({ outcome }) => outcome === 'busy'),
    )
    await service.until('the line', () =>
      service.of(second, 'turn').some(({ turn }) => turn.heardText.includes('Nobody is there')),
    )
    await data('POST', `/v1/calls/${second}/hangup`, {})
    t.match(await service.ended(second), {
      charges: [{ kind: 'agent' }],
      transfer: { status: 'missed', outcome: 'busy', hasReturnRecording: true },
    })

    // Answers and presses nothing.
    const silent = await destination('silent', '11')
    const asking = await service.publishAgent({
      name: 'Ravi',
      callSettings: {
        nudges: { enabled: false },
        transfer: {
          handoff: 'warm',
          defaultDestinationId: silent,
          destinations: [{ destinationId: silent }],
        },
      },
    })
    await data('PATCH', `/v1/numbers/${service.numberId}`, { agentId: asking })
    const caller = await dial(t, service)
    await caller.answered()
    const third = await caller.callId()
    await service.until('a greeting', () => service.of(third, 'turn').length > 0)
    await ask(third)
    await service.until('the answer of the person', () =>
      service.of(third, 'transfer').some(({ status }) => status === 'answered'),
    )
    await caller.hangUp()
    await service.until('the end', () => service.of(third, 'ended').length > 0)
    const [ended] = service.of(third, 'ended')
    const leftAt = ended?.callerLeftAt ?? 0
    t.ok(leftAt > 0 && leftAt < Number(ended?.at), 'the person is told before the call ends')
    t.match(service.of(third, 'turn').at(-1)?.turn, {
      speaker: 'agent',
      heardText: /^The caller has hung up/,
    })
    const gone = await service.ended(third)
    t.match(gone, {
      ...{ endedReason: 'caller_hangup', endedAt: new Date(leftAt).toISOString(), humanSeconds: 0 },
      charges: [{ kind: 'agent' }],
      transfer: { mode: 'consult', status: 'canceled', outcome: 'caller_hung_up', humanSeconds: 0 },
    })
    const seconds = Math.ceil((leftAt - Date.parse(String(gone.answeredAt))) / 1000)
    t.equal((gone.charges as Json[])[0]?.seconds, seconds, 'these words are not billed')
    t.equal((gone.charges as Json[]).length, 1)
    const recordedMs = ended?.recording?.durationMs ?? 0
    t.ok(recordedMs > 0 && recordedMs < seconds * 1_000 + 1_000, `recorded: ${recordedMs} ms`)
  },
)
