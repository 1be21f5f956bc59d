import t from 'tap'
import { VirtualClock } from '../../../fixtures/host/clock.js'
import type { ToolCall } from '../../agent/vendor-ports.js'
import { openRealtimeAudio } from './realtime-audio.js'
import { RealtimeResponses } from './realtime-responses.js'

const ITEM = { type: 'function_call', id: 'item_1', call_id: 'call_1', name: 'book', arguments: '{"x":1}' }

function replyWith(...messages: readonly Readonly<Record<string, unknown>>[]): readonly ToolCall[] | null {
  const responses = new RealtimeResponses({
    send: () => {},
    audioFormat: openRealtimeAudio(8000),
    clock: new VirtualClock(),
  })
  let calls: readonly ToolCall[] | null = null
  responses.begin({}, true, {
    audio: () => {},
    words: () => {},
    progress: () => {},
    done: (made) => {
      calls = made
    },
    failed: (error) => {
      throw error
    },
  })
  responses.read({ type: 'response.created', response: { id: 'resp_1' } }, null)
  for (const message of messages) responses.read({ response_id: 'resp_1', ...message }, null)
  return calls
}

t.test('calls that only their own message names are made at the end', async (t) => {
  const item = { type: 'response.output_item.done', item: ITEM }
  const call = { id: 'call_1', name: 'book', arguments: { x: 1 } }
  const done = (output: unknown) => ({ type: 'response.done', response: { id: 'resp_1', output } })
  t.equal(replyWith(item), null)
  t.same(replyWith(item, done(undefined)), [call])
  t.same(replyWith(item, done([])), [call])
  t.same(replyWith(item, done([{ type: 'message' }])), [call])
  t.same(replyWith(item, done([ITEM])), [call], 'once')
  t.same(replyWith({ ...item, response_id: 'another' }, done([])), [])
  t.same(replyWith({ ...item, item: { ...ITEM, arguments: { x: 1 } } }, done([])), [call], 'as an object')
})
