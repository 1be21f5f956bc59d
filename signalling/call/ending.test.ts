import t from 'tap'
import { EngineError } from '../../media/base/errors.js'
import { passableReason } from '../sip/reason.js'
import {
  type Cause,
  type Disposition,
  type Ending,
  endingOfConversation,
  endingOfError,
  endingOfServerBye,
  endingOfStatus,
  outcomeOf,
  refusalOf,
} from './ending.js'

t.test('the status of the dialled leg passes to the caller, with what the network said', async (t) => {
  const refusal = (status: number, reason: string | null = null) => {
    const { status: passed, reason: told } = refusalOf(endingOfStatus(status, reason))
    return [passed, told]
  }
  for (const status of [403, 404, 408, 410, 484, 488, 500, 502, 503, 504, 600, 604, 606, 607])
    t.same(refusal(status), [status, `SIP;cause=${status}`])
  for (const status of [480, 486, 603]) t.same(refusal(status), [status, null])
  t.same(refusal(404, 'Q.850;cause=1;text="Unallocated"'), [
    404,
    'Q.850;cause=1;text="Unallocated", SIP;cause=404',
  ])
  // Our own credentials, extensions and routes are no business of the caller.
  for (const status of [302, 400, 401, 407, 415, 420, 422, 482, 483, 491, 513, 699])
    t.same(refusal(status), [500, `SIP;cause=${status}`])
  t.same(refusal(487), [480, 'SIP;cause=487'])
  t.same(refusalOf({ by: 'engine', cause: 'gate_blocked', fault: 'customer' }), { status: 603, reason: null })
})

t.test('only a well-formed Reason passes', async (t) => {
  for (const good of ['Q.850;cause=16;text="Terminated"', 'SIP ;cause=200', 'Q.850;cause=1, SIP;cause=404'])
    t.equal(passableReason(` ${good} `), good)
  const quoted = `Q.850;text="${'a'.repeat(300)}"`
  for (const bad of [
    null,
    undefined,
    '',
    'Q.850;',
    'Q.850;text="a',
    'a b',
    'x\r\nVia: y',
    quoted,
    'a='.repeat(90),
  ])
    t.equal(passableReason(bad), null, String(bad))
})

const base: Ending = { by: 'engine', cause: 'internal', fault: 'ours' }

t.test('every cause has its disposition before and after the answer, and its SIP response', async (t) => {
  const table: readonly [Cause, Disposition, Disposition, number][] = [
    ['caller_hangup', 'no_answer', 'answered', 487],
    ['agent_hangup', 'failed', 'answered', 480],
    ['max_duration', 'failed', 'answered', 480],
    ['silence', 'failed', 'answered', 480],
    ['voicemail', 'voicemail', 'voicemail', 480],
    ['pool_full', 'failed', 'unknown', 503],
    ['api_hangup', 'no_answer', 'answered', 480],
    ['carrier_error', 'failed', 'answered', 480],
    ['no_answer', 'no_answer', 'no_answer', 480],
    ['busy', 'busy', 'busy', 486],
    ['rejected', 'failed', 'failed', 603],
    ['internal', 'failed', 'unknown', 500],
  ]
  for (const [cause, unanswered, answered, sipAnswer] of table) {
    t.strictSame(outcomeOf({ ...base, cause }, false), {
      endedReason: cause,
      disposition: unanswered,
      sipAnswer,
    })
    t.strictSame(outcomeOf({ ...base, cause }, true), {
      endedReason: cause,
      disposition: answered,
      sipAnswer,
    })
  }
})

t.test('final responses to our INVITE', async (t) => {
  const table: readonly [number, Cause, Ending['by'], Ending['fault']][] = [
    [486, 'busy', 'callee', 'none'],
    [600, 'busy', 'callee', 'none'],
    [408, 'no_answer', 'callee', 'none'],
    [480, 'no_answer', 'callee', 'none'],
    [487, 'no_answer', 'callee', 'none'],
    [603, 'rejected', 'callee', 'none'],
    [607, 'rejected', 'callee', 'none'],
    [608, 'rejected', 'callee', 'none'],
    [404, 'carrier_error', 'engine', 'customer'],
    [410, 'carrier_error', 'engine', 'customer'],
    [484, 'carrier_error', 'engine', 'customer'],
    [604, 'carrier_error', 'engine', 'customer'],
    [302, 'carrier_error', 'engine', 'carrier'],
    [401, 'carrier_error', 'engine', 'carrier'],
    [403, 'carrier_error', 'engine', 'carrier'],
    [407, 'carrier_error', 'engine', 'carrier'],
    [488, 'carrier_error', 'engine', 'carrier'],
    [500, 'carrier_error', 'engine', 'carrier'],
    [503, 'carrier_error', 'engine', 'carrier'],
    [504, 'carrier_error', 'engine', 'carrier'],
  ]
  for (const [status, cause, by, fault] of table) {
    t.strictSame(endingOfStatus(status), { by, cause, fault, sip: status }, String(status))
  }
})

t.test('errors', async (t) => {
  const table: readonly [unknown, Cause, Ending['fault']][] = [
    [new EngineError('overloaded', 'x'), 'pool_full', 'ours'],
    [new EngineError('port_unavailable', 'x'), 'pool_full', 'ours'],
    [new EngineError('sip_refused', 'x', { context: { status: 486 } }), 'busy', 'none'],
    [new EngineError('sip_refused', 'x'), 'carrier_error', 'carrier'],
    [new EngineError('sdp_invalid', 'x'), 'carrier_error', 'carrier'],
    [new EngineError('no_common_codec', 'x'), 'carrier_error', 'carrier'],
    [new EngineError('sip_failed', 'x'), 'internal', 'ours'],
    [new EngineError('worker_lost', 'x'), 'internal', 'ours'],
    [new EngineError('closed', 'x'), 'internal', 'ours'],
    [new Error('x'), 'internal', 'ours'],
    ['x', 'internal', 'ours'],
  ]
  for (const [error, cause, fault] of table) {
    const ending = endingOfError(error)
    t.equal(ending.cause, cause, String(error))
    t.equal(ending.fault, fault, String(error))
  }
  t.equal(endingOfError(new Error('the text')).note, 'the text')
})

t.test('endings of conversations and of the SIP server', async (t) => {
  t.strictSame(endingOfConversation('agent_hangup'), { by: 'agent', cause: 'agent_hangup', fault: 'none' })
  t.strictSame(endingOfConversation('max_duration'), { by: 'agent', cause: 'max_duration', fault: 'none' })
  t.strictSame(endingOfConversation('silence'), { by: 'agent', cause: 'silence', fault: 'none' })
  t.match(endingOfConversation('provider_failure'), { by: 'engine', cause: 'internal', fault: 'ours' })
  t.match(endingOfServerBye('ACK timeout'), { cause: 'carrier_error', fault: 'carrier', note: 'ACK timeout' })
})
