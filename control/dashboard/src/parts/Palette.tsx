import { Button, Kbd, Modal, TextInput } from '@mantine/core'
import { useHotkeys } from '@mantine/hooks'
import { useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { type KeyboardEvent, useState } from 'react'
import { useTranslations } from 'use-intl'
import { useKey, useSession } from '../session.js'
import { useFocusBack } from './focus.js'
import { MENU, pathOf } from './Shell.js'

interface Target {
  readonly id: string
  readonly label: string
  readonly hint: string
  /** Below the environment. */
  readonly path: string
  readonly search?: Readonly<Record<string, unknown>>
}

/** The pages of things, by the beginning of their ids. */
const PAGES: Readonly<Record<string, string>> = {
  call: 'calls',
  agt: 'agents',
  cmp: 'campaigns',
  kb: 'knowledge',
  trk: 'trunks',
}
/** The lists of things that have no page of their own. */
const LISTS: Readonly<Record<string, string>> = {
  num: 'numbers',
  tdst: 'destinations',
  cbk: 'callbacks',
  whe: 'webhooks',
  whd: 'webhooks',
}

const SHOWN = 12

/** Opens with Ctrl or Cmd and K: goes to a page, an agent, a call by its number, or anything by its id, or begins an action. */
export function Palette() {
  const t = useTranslations('palette')
  const [opened, setOpened] = useState(false)
  useHotkeys([['mod+K', () => setOpened((open) => !open)]], [], true)
  return (
    <>
      <Button variant="default" size="xs" onClick={() => setOpened(true)} className="search">
        <svg viewBox="0 0 20 20" width="16" height="16" aria-hidden="true">
          <path d="M13 13l5 5M8 2a6 6 0 1 0 0 12a6 6 0 1 0 0-12" />
        </svg>
        <span className="name">{t('open')}</span>
        <Kbd size="xs" aria-hidden="true">
          Ctrl K
        </Kbd>
      </Button>
      {opened && <Search close={() => setOpened(false)} />}
    </>
  )
}

function Search({ close }: { readonly close: () => void }) {
  const t = useTranslations('palette')
  const tCommon = useTranslations('common')
  const { environment } = useSession()
  const navigate = useNavigate()
  const [text, setText] = useState('')
  useFocusBack()
  const [at, setAt] = useState(0)
  const targets = useTargets(text)
  const chosen = Math.min(at, targets.length - 1)
  const go = (target: Target | undefined): void => {
    if (target === undefined) return
    close()
    void navigate({
      to: `/$environment/${target.path}` as '/$environment',
      params: { environment },
      search: (target.search ?? {}) as never,
    })
  }
  const onKeyDown = (event: KeyboardEvent): void => {
    const steps: Readonly<Record<string, number>> = { ArrowDown: 1, ArrowUp: -1 }
    const step = steps[event.key]
    if (step !== undefined) {
      event.preventDefault()
      setAt((chosen + step + targets.length) % Math.max(1, targets.length))
    }
    if (event.key === 'Enter') {
      event.preventDefault()
      go(targets[chosen])
    }
  }
  return (
    <Modal opened onClose={close} title={t('title')} closeButtonProps={{ 'aria-label': tCommon('close') }}>
      <TextInput
        data-autofocus
        label={t('label')}
        role="combobox"
        aria-expanded
        aria-controls="palette"
        aria-activedescendant={targets[chosen] === undefined ? undefined : `palette-${chosen}`}
        autoComplete="off"
        value={text}
        onChange={({ currentTarget }) => {
          setText(currentTarget.value)
          setAt(0)
        }}
        onKeyDown={onKeyDown}
      />
      <div id="palette" role="listbox" aria-label={t('title')} className="palette">
        {targets.map((target, index) => (
          <div
            key={target.id}
            id={`palette-${index}`}
            role="option"
            tabIndex={-1}
            aria-selected={index === chosen}
            onClick={() => go(target)}
            onKeyDown={onKeyDown}
          >
            <span>{target.label}</span>
            <small>{target.hint}</small>
          </div>
        ))}
      </div>
      <p role="status" className="hint">
        {targets.length === 0 ? t('nothing') : ''}
      </p>
    </Modal>
  )
}

/** Returns what matches all words of `text`. Three digits and more also find calls. */
function useTargets(text: string): readonly Target[] {
  const t = useTranslations('palette')
  const tMenu = useTranslations('menu')
  const tCalls = useTranslations('calls')
  const tMore = useTranslations('paletteMore')
  const { api, canWrite } = useSession()
  const key = useKey()
  const agents = useQuery({
    queryKey: key('agents'),
    queryFn: () => api.listAgents({ query: { limit: 100 } }),
  })
  const digits = text.replace(/\D/g, '')
  const calls = useQuery({
    queryKey: key('palette', digits),
    queryFn: () => api.listCalls({ query: { search: digits, limit: 5 } }),
    enabled: digits.length >= 3,
  })
  const pages = MENU.flatMap(({ entries }) =>
    entries.map((entry) => ({ id: entry, label: tMenu(entry), hint: t('page'), path: pathOf(entry) })),
  )
  const found = agents.data?.items.map(({ id, name }) => ({
    id,
    label: name,
    hint: t('agent'),
    path: `agents/${id}`,
  }))
  const actions: readonly Target[] = canWrite
    ? [
        {
          id: 'place',
          label: tCalls('place'),
          hint: tMore('action'),
          path: 'calls',
          search: { place: true },
        },
      ]
    : []
  const words = text.toLocaleLowerCase().split(/\s+/)
  const matching = [...pages, ...actions, ...(found ?? [])].filter(({ label }) =>
    words.every((word) => label.toLocaleLowerCase().includes(word)),
  )
  const called = digits.length < 3 ? [] : (calls.data?.items ?? [])
  return [
    ...byId(text.trim(), tMore('id')),
    ...called.map(({ id, from, to }) => ({
      id,
      label: `${from} → ${to}`,
      hint: t('call'),
      path: `calls/${id}`,
    })),
    ...matching,
  ].slice(0, SHOWN)
}

/** Returns the page of an id. An event is opened in its list. */
function byId(id: string, hint: string): readonly Target[] {
  const kind = /^([a-z]+)_[0-9A-Za-z]{10,}$/.exec(id)?.[1]
  if (kind === undefined) return []
  const target = { id: `id ${id}`, label: id, hint }
  if (kind === 'evt') return [{ ...target, path: 'events', search: { id } }]
  const page = PAGES[kind]
  const path = page === undefined ? LISTS[kind] : `${page}/${id}`
  return path === undefined ? [] : [{ ...target, path }]
}
