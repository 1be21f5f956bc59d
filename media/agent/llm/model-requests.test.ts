import t from 'tap'
import { settle } from '../../../fixtures/host/settle.js'
import { EngineError } from '../../base/errors.js'
import { TurnTracer } from '../conversation/turn-tracer.js'
import { type ChatMessage, type GenerateRequest, PROMPT_TOO_LONG } from '../vendor-ports.js'
import type { ModelChoice } from './model-chain.js'
import { ModelRequests } from './model-requests.js'

const tooLong = new EngineError('vendor_rejected', 'the vendor answered 400: context length', {
  context: { reason: PROMPT_TOO_LONG },
})

/** A model that rejects prompts of more than `most` messages. */
function model(most: number) {
  const asked: GenerateRequest[] = []
  const choice: ModelChoice = {
    model: 'm',
    vendor: {
      id: 'v',
      firstTokenDeadlineMs: 1000,
      generate(request, events) {
        asked.push(request)
        if (request.messages.length > most) events.failed(tooLong)
        else {
          events.text('Yes.')
          events.done({ promptTokens: 10, completionTokens: 1 })
        }
        return { cancel() {} }
      },
    },
  }
  return { asked, choice }
}

const LONG: readonly ChatMessage[] = [
  { role: 'system', content: 'You are Asha.' },
  ...Array.from({ length: 40 }, (_, i): readonly ChatMessage[] => [
    { role: 'user', content: `Question ${i} about the opening hours of your clinic` },
    { role: 'assistant', content: `Answer ${i}: from nine in the morning to six` },
  ]).flat(),
  { role: 'user', content: 'And tomorrow?' },
]

async function ask(requests: ModelRequests, choice: ModelChoice) {
  return new Promise<string>((resolve) => {
    requests.start(choice, LONG, [], {
      token() {},
      progress() {},
      sentence() {},
      withdrawn() {},
      done: (text) => resolve(text),
      failed: ({ code }) => resolve(code),
    })
  })
}

t.test('a prompt that is too long is resent at half its length, and the limit is remembered', async (t) => {
  const tracer = new TurnTracer(() => 0)
  const requests = new ModelRequests(tracer)
  const { asked, choice } = model(60)
  t.equal(await ask(requests, choice), 'Yes.')
  t.equal(asked[0]?.messages.length, LONG.length)
  t.ok((asked[1]?.messages.length ?? 99) <= 60)
  t.match(asked[1]?.messages[0]?.content, /^You are Asha\.[\s\S]*left out here/)
  t.same(asked[1]?.messages.at(-1), LONG.at(-1))
  t.equal(await ask(requests, choice), 'Yes.')
  t.equal(asked.length, 3, 'not tried in full again')
  t.match(tracer.total().models, [{ requests: 3, counted: 2 }])
})

t.test('a prompt that is too long is shortened once', async (t) => {
  const { asked, choice } = model(2)
  t.equal(await ask(new ModelRequests(new TurnTracer(() => 0)), choice), 'vendor_rejected')
  t.equal(asked.length, 2)
})

t.test('a prompt that cannot be shortened is not sent twice', async (t) => {
  const { asked, choice } = model(0)
  const failed = new Promise<string>((resolve) => {
    new ModelRequests(new TurnTracer(() => 0)).start(choice, LONG.slice(-1), [], {
      token() {},
      progress() {},
      sentence() {},
      withdrawn() {},
      done: () => resolve('done'),
      failed: ({ code }) => resolve(code),
    })
  })
  t.equal(await failed, 'vendor_rejected')
  t.equal(asked.length, 1)
})

t.test('a cancellation between the two requests cancels the second', async (t) => {
  const { asked, choice } = model(60)
  let told = 0
  const job = new ModelRequests(new TurnTracer(() => 0)).start(choice, LONG, [], {
    token: () => told++,
    progress: () => {},
    sentence: () => told++,
    withdrawn: () => told++,
    done: () => told++,
    failed: () => told++,
  })
  // Jobs begin in a microtask: here the first has failed and the second has not begun.
  await Promise.resolve()
  t.equal(asked.length, 1)
  job.cancel()
  await settle()
  t.equal(told, 0)
  t.equal(asked.length, 1)
})
