import t from 'tap'
import type { HttpToolRequest, ToolSpec } from '../agent-spec.js'
import type { ToolCall } from '../vendor-ports.js'
import { fillerOf, type RunningTools, runTools, type ToolRequest, type ToolRound } from './tool-calls.js'

const REQUEST: HttpToolRequest = {
  method: 'POST',
  url: 'https://crm.example/orders',
  timeoutMs: 5000,
  headers: {},
  bodyFormat: 'json',
  bodyRoot: null,
  auth: null,
  connectionId: null,
}

const tool = (name: string, action: ToolSpec['action'], over: Partial<ToolSpec> = {}): ToolSpec => ({
  name,
  description: name,
  parameters: [],
  speech: {},
  action,
  ...over,
})

const TOOLS: readonly ToolSpec[] = [
  tool('end_call', { kind: 'end_call' }),
  tool(
    'slots',
    { kind: 'mock', response: 'Ten.' },
    { parameters: [{ name: 'day', description: 'Day', type: 'string', required: true }] },
  ),
  tool('person', { kind: 'transfer_call' }),
  tool('keys', { kind: 'send_dtmf' }),
  tool(
    'order',
    { kind: 'http', request: REQUEST },
    {
      parameters: [{ name: 'id', description: 'Order', type: 'integer', required: false }],
      speech: { 'hi-IN': 'देखती हूँ।', 'en-IN': 'Let me see.' },
    },
  ),
  tool('stock', { kind: 'http', request: { ...REQUEST, timeoutMs: 9000 } }),
]

const call = (id: string, name: string, given: Readonly<Record<string, unknown>> = {}): ToolCall => ({
  id,
  name,
  arguments: given,
})

function run(text: string, calls: readonly ToolCall[]) {
  const asked: { request: ToolRequest; done: (result: string) => void; cancelled: boolean }[] = []
  const pressed: string[] = []
  const rounds: ToolRound[] = []
  const running: RunningTools = runTools(
    text,
    calls,
    TOOLS,
    {
      run(request, done) {
        const job = { request, done, cancelled: false }
        asked.push(job)
        return {
          cancel: () => {
            job.cancelled = true
          },
        }
      },
      press(digits) {
        pressed.push(digits)
        return digits !== '999'
      },
    },
    (round) => rounds.push(round),
  )
  return { running, asked, pressed, rounds, first: rounds[0] }
}

t.test('tools without external requests finish at once', async (t) => {
  t.equal(run('', []).first?.next, 'nothing')
  const slots = call('1', 'slots', { day: 'Monday' })
  const again = run('Let me look.', [slots]).first
  t.equal(again?.next, 'again')
  t.same(again?.messages, [
    { role: 'assistant', content: 'Let me look.', toolCalls: [slots] },
    { role: 'tool', toolCallId: '1', content: 'Ten.' },
  ])
  t.equal(run('', [slots, call('2', 'end_call')]).first?.next, 'end')
  const result = (made: ToolCall) => run('', [made]).first?.outcomes[0]?.result
  t.match(result(call('3', 'nope')), /no tool named nope/)
  t.match(result(call('4', 'slots')), /day is missing/)
  t.match(
    result(call('5', 'person')),
    /^Failed: calls cannot be transferred/,
    'what is not built yet says so',
  )
  t.equal(run('', [call('3', 'nope')]).first?.next, 'again')
})

t.test('a huge result is cut before it reaches the model and the transcript', async (t) => {
  const { asked, rounds } = run('', [call('1', 'order')])
  asked[0]?.done('👍'.repeat(40_000))
  const result = rounds[0]?.outcomes[0]?.result ?? ''
  t.ok(result.length < 8100)
  t.match(result, /left out\]$/)
  t.notOk(/[\ud800-\udbff](?![\udc00-\udfff])/.test(result))
  t.match(rounds[0]?.messages[1], { role: 'tool', content: result })
})

t.test('valid keys are sent, invalid ones are not', async (t) => {
  const right = run('', [call('1', 'keys', { digits: '12-3 #' })])
  t.same(right.pressed, ['123#'])
  t.match(right.first?.outcomes, [{ result: 'The keys 123# are being sent.' }])
  t.same(run('', [call('1', 'keys', { which: 7 })]).pressed, ['7'], 'whatever its one parameter is called')
  for (const digits of ['', 'one', '1'.repeat(33)]) {
    const wrong = run('', [call('1', 'keys', { digits })])
    t.same(wrong.pressed, [])
    t.match(wrong.first?.outcomes, [{ result: /^Failed: digits must be/ }])
  }
  t.match(run('', [call('1', 'keys', { digits: '999' })]).first?.outcomes, [
    { result: /^Failed: keys cannot/ },
  ])
})

t.test('a wrong argument of a request is reported to the model', async (t) => {
  const { asked, first } = run('', [call('1', 'order', { id: 'seven' })])
  t.same(asked, [])
  t.match(first?.outcomes, [{ result: 'Failed: the parameter id must be a whole number. Nothing was sent.' }])
})

t.test('arguments that cannot be read never run, whatever the tool does', async (t) => {
  for (const name of ['order', 'person', 'keys', 'end_call', 'slots']) {
    const made = { ...call('1', name), unusable: 'the arguments are not valid JSON' }
    const { asked, pressed, first } = run('', [made])
    t.same([asked, pressed], [[], []], name)
    t.equal(first?.next, 'again', name)
    t.match(
      first?.outcomes[0]?.result,
      /^Failed: the arguments are not valid JSON; .* Nothing was sent\.$/,
      name,
    )
  }
  const wrong = run('', [call('1', 'slots', { day: ['Monday'] })])
  t.match(wrong.first?.outcomes, [{ result: 'Failed: the parameter day must be text. Nothing was sent.' }])
})

t.test('requests run in parallel; the round ends with the last result', async (t) => {
  const made = [
    call('1', 'order', { id: '7', role: 'owner' }),
    call('2', 'slots', { day: 'Monday' }),
    call('3', 'stock'),
  ]
  const { running, asked, rounds } = run('', made)
  t.same(rounds, [])
  t.same(
    asked.map(({ request }) => request),
    [
      { tool: 'order', arguments: { id: 7 }, timeoutMs: 5000 },
      { tool: 'stock', arguments: {}, timeoutMs: 9000 },
    ],
  )
  t.same(
    running.pending.map(({ name }) => name),
    ['order', 'stock'],
  )
  t.equal(fillerOf(running.pending, 'hi-IN'), 'देखती हूँ।')
  t.equal(fillerOf(running.pending, 'ta-IN'), null)
  asked[1]?.done('Four left.')
  t.same(rounds, [])
  asked[0]?.done('Sent.')
  asked[0]?.done('Sent twice.')
  t.equal(rounds.length, 1)
  t.same(
    rounds[0]?.outcomes.map(({ call: { name }, result }) => [name, result]),
    [
      ['order', 'Sent.'],
      ['slots', 'Ten.'],
      ['stock', 'Four left.'],
    ],
  )
})

t.test('on a barge-in known results are reported, later ones follow', async (t) => {
  const { running, asked, rounds } = run('One moment.', [call('1', 'order'), call('2', 'stock')])
  asked[0]?.done('Sent.')
  const late: string[] = []
  t.match(
    running.abandon(({ call: { name }, result }) => late.push(`${name}: ${result}`)),
    [
      { role: 'assistant', content: 'One moment.', toolCalls: [{ id: '1' }, { id: '2' }] },
      { role: 'tool', toolCallId: '1', content: 'Sent.' },
      { role: 'tool', toolCallId: '2', content: /^No result yet: .* Do not call it again/ },
    ],
  )
  asked[1]?.done('Four left.')
  t.same(late, ['stock: Four left.'])
  t.same(rounds, [], 'nobody waits for the round any more')
})

t.test('at the end of the call all tools are cancelled', async (t) => {
  const { running, asked, rounds } = run('', [call('1', 'order')])
  running.cancel()
  t.equal(asked[0]?.cancelled, true)
  asked[0]?.done('Sent.')
  t.same(rounds, [])
})
