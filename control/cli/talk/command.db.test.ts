import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import t, { type Test } from 'tap'
import { openMigratedSqlite } from '../../../fixtures/database/sqlite-image.js'
import { eventStream, openFakeOpenAi } from '../../../fixtures/vendors/fake-openai.js'
import { chatFrames, DONE_FRAME, deltaFrame, finishFrame } from '../../../fixtures/vendors/openai-frames.js'
import { readSettings } from '../../config/settings.js'
import { talkCommand } from './command.js'

/** Runs the command on an empty database. Returns its output and its exit status. */
async function talk(args: readonly string[], said: readonly string[], env: Record<string, string> = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'parley-talk-'))
  const settings = readSettings({ PARLEY_DATA: folder, ...env }, folder)
  const database = await openMigratedSqlite()
  const input = new PassThrough()
  input.end(said.map((line) => `${line}\n`).join(''))
  let printed = ''
  try {
    const status = await talkCommand(
      args,
      async (work) => {
        await work(database.db, settings)
        return 0
      },
      {
        input,
        write: (text) => {
          printed += text
        },
      },
    )
    return { status, printed, lines: printed.trim().split('\n') }
  } finally {
    await database.close()
    rmSync(folder, { recursive: true, force: true })
  }
}

function agentFile(test: Test, config: object): string {
  const folder = mkdtempSync(join(tmpdir(), 'parley-agent-'))
  test.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const path = join(folder, 'agent.json')
  writeFileSync(path, JSON.stringify(config))
  return path
}

t.test('a typed conversation with the embedded rules', async (t) => {
  const { status, lines } = await talk(['--trace'], ['When are you open?', '', 'Thank you, goodbye.'])
  t.equal(status, 0)
  t.equal(lines[0], 'you    When are you open?')
  t.match(lines[1], /asked after \d+ ms, first token \d+ ms/)
  t.match(lines[2], /^agent {2}.*open from nine/)
  t.equal(lines[3], 'you    Thank you, goodbye.')
})

t.test('an agent from a file: opening, variables, a tool, the end', async (t) => {
  const fake = await openFakeOpenAi()
  t.teardown(() => fake.close())
  const call = (name: string, given: string) =>
    deltaFrame(
      `{"tool_calls":[{"index":0,"id":"c1","type":"function","function":{"name":"${name}","arguments":${JSON.stringify(given)}}}]}`,
    )
  fake.enqueue(
    'chat',
    eventStream([call('order', '{"id":"A1"}'), finishFrame('tool_calls'), DONE_FRAME]),
    eventStream(chatFrames(['It comes tomorrow.'])),
    eventStream([
      ...chatFrames(['Bye.']).slice(0, 2),
      call('end_call', '{}'),
      finishFrame('tool_calls'),
      DONE_FRAME,
    ]),
  )
  const agent = agentFile(t, {
    name: 'Shop',
    purpose: 'transactional',
    systemPrompt: 'You sell {{what}}.',
    llmModel: 'fake-chat',
    inputVariables: [{ name: 'what', description: '', required: true, default: null }],
    callSettings: { inboundOpeningLine: { text: 'Welcome to {{what}}.' } },
    tools: [
      {
        name: 'order',
        description: 'An order',
        parameters: [{ name: 'id', description: '', required: true, type: 'string' }],
        mock: { enabled: true, response: 'tomorrow' },
      },
      { name: 'end_call', description: 'Ends the call', preset: 'end_call' },
    ],
  })
  const env = { PARLEY_OPENAI_BASE_URL: fake.baseUrl, PARLEY_OPENAI_CHAT_MODEL: 'fake-chat' }
  const said = ['Where is my order?', 'Bye.', 'Is anybody there?']
  const { status, lines } = await talk(['--agent', agent, '--variable', 'what=books'], said, env)
  t.equal(status, 0)
  t.same(lines, [
    'agent  Welcome to books.',
    'tool   order({"id":"A1"}) -> tomorrow',
    'you    Where is my order?',
    'agent  It comes tomorrow.',
    'tool   end_call({}) -> The call ends after these words.',
    'you    Bye.',
    'agent  Bye.',
    '       ended: agent_hangup',
  ])
  t.match(JSON.parse(fake.requests[0]?.body.toString() ?? '{}').messages[0].content, /You sell books\./)
  await t.rejects(talk(['--agent', agent], said, env), { message: 'give --variable for: what' })
})

t.test('a transfer, with the person played too', async (t) => {
  const agent = (transfer: object) =>
    agentFile(t, {
      name: 'Shop',
      callSettings: {
        transfer: {
          destinations: [{ destinationId: 'owner', fallbackDestinationId: 'desk' }],
          defaultDestinationId: 'owner',
          afterMissLine: { text: 'Nobody is there.' },
          ...transfer,
        },
      },
    })
  const asks = 'Can I speak to a real person?'
  const taken = await talk(['--agent', agent({ handoff: 'warm' })], [asks, 'Who is calling?', 'Yes, please.'])
  t.equal(taken.status, 0)
  const spoken = (lines: readonly string[]) => lines.filter((line) => !line.startsWith('tool'))
  t.match(spoken(taken.lines), [
    `you    ${asks}`,
    'the telephone of owner rings',
    /^brief {2}.*real person.*Say yes or press 1/,
    /nobody answers/,
    /^brief {2}Say yes or press 1/,
    'owner has the caller, and the agent left: transfer_completed',
  ])
  t.equal(spoken(taken.lines).length, 6)

  const said = [asks, 'yes', '2', '-', 'When are you open?', asks]
  const missed = await talk(['--agent', agent({})], said)
  t.match(spoken(missed.lines), [
    `you    ${asks}`,
    'the telephone of owner rings',
    /^brief .*Press 1/,
    /nobody answers/,
    'only the keys 1 and 2 count here',
    'the telephone of desk rings',
    /^brief .*Press 1/,
    /nobody answers/,
    'agent  Nobody is there.',
  ])
  t.match(missed.printed, /you {4}When are you open\?\nagent {2}.*open from nine/, 'the agent goes on')
  t.equal(missed.printed.match(/rings/g)?.length, 2, 'two attempts at most')

  const back = await talk(['--agent', agent({ blindTransfers: true })], [asks, 'caller: Never mind.', '1'])
  t.match(back.printed, /you {4}Never mind\.\nagent {2}All right, I am back/)
})

t.test('unusable agents are reported', async (t) => {
  await t.rejects(talk(['--agent', 'agt_none'], []), { message: /no such file, and no such agent/ })
  await t.rejects(talk(['--agent', agentFile(t, { callSettings: { maxCallSeconds: 1 } })], []), {
    message: /callSettings\.maxCallSeconds/,
  })
  await t.rejects(talk(['--agent', agentFile(t, { llmModel: 'gone' })], []), {
    message: /is not configured here/,
  })
  await t.rejects(talk(['--variable', 'x'], []), { message: /write name=value/ })
})
