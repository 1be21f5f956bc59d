import t from 'tap'
import { silentLog } from '../../media/base/log.js'
import { openKnowledgeSearch } from './search.js'

t.test('bases keep their order, and between them the best passage that is left comes next', async (t) => {
  const scores: Readonly<Record<string, readonly number[]>> = { a: [0.5, 0.9], b: [0.7, 0.6], c: [0.8] }
  const search = openKnowledgeSearch({
    db: null as never,
    objects: null as never,
    log: silentLog,
    vectors: null,
    jobs: {
      async search(key) {
        const name = /(\w)\.index$/.exec(key)?.[1] ?? ''
        const place = { text: '', heading: '', page: null, documentId: name, documentName: name }
        const passages = (scores[name] ?? []).map((score, index) => {
          return { ...place, index, score, matched: [] }
        })
        return { passages, vectorModel: null }
      },
    },
  })
  const bases = ['a', 'b', 'c'].map((id) => ({ id, buildId: id }))
  const found = async (limit: number) => {
    const { passages } = await search.search('org_1', bases, { text: 'fee' }, { limit, vectorsMs: 0 })
    return passages.map(({ knowledgeBaseId, index }) => `${knowledgeBaseId}${index}`)
  }
  t.same(await found(9), ['c0', 'b0', 'b1', 'a0', 'a1'])
  t.same(await found(2), ['c0', 'b0'])
})
