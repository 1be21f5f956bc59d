import t from 'tap'
import { KNOWLEDGE_TOKENS } from '../../media/agent/llm/knowledge.js'
import { deliveryOf } from './delivery.js'

const base = (id: string, compiledTokens: number, servingBuildId: string | null = `${id}-1`) => ({
  id,
  servingBuildId,
  compiledTokens,
})

const modes = (...all: Parameters<typeof deliveryOf>) => deliveryOf(...all).map(({ id, mode }) => [id, mode])

t.test('bases share one budget, the smallest first', async (t) => {
  t.equal(KNOWLEDGE_TOKENS, 12_000)
  t.same(modes([base('a', 5200), base('b', 4900), base('c', 5000)]), [
    ['b', 'inline'],
    ['c', 'inline'],
    ['a', 'search'],
  ])
  t.same(modes([base('b', 5000), base('a', 5000), base('c', 5000)]), [
    ['a', 'inline'],
    ['b', 'inline'],
    ['c', 'search'],
  ])
})

t.test('a base that grew since publishing stays within the budget', async (t) => {
  const published = deliveryOf([base('a', 3000), base('b', 4000), base('c', 4500)])
  t.same(
    published.map(({ mode }) => mode),
    ['inline', 'inline', 'inline'],
  )
  t.same(deliveryOf([base('a', 5500, 'a-2'), base('b', 4000), base('c', 4500)], published), [
    { id: 'b', buildId: 'b-1', mode: 'inline' },
    { id: 'c', buildId: 'c-1', mode: 'inline' },
    { id: 'a', buildId: 'a-2', mode: 'search' },
  ])
})

t.test('a base that was searched stays so, and leaves its tokens to others', async (t) => {
  const published = deliveryOf([base('a', 7000), base('b', 5000)])
  t.same(
    published.map(({ id, mode }) => [id, mode]),
    [
      ['b', 'inline'],
      ['a', 'search'],
    ],
  )
  t.same(modes([base('a', 1000, 'a-2'), base('b', 5000), base('c', 6000)], published), [
    ['a', 'search'],
    ['b', 'inline'],
    ['c', 'inline'],
  ])
})

t.test('a base that was never built takes no tokens', async (t) => {
  t.same(deliveryOf([base('a', 100, null), base('b', 6000), base('c', 6000)]), [
    { id: 'a', buildId: null, mode: null },
    { id: 'b', buildId: 'b-1', mode: 'inline' },
    { id: 'c', buildId: 'c-1', mode: 'inline' },
  ])
})
