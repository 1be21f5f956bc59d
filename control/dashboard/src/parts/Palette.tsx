import { Button, Kbd, Modal, TextInput } from '@mantine/core'
import { useHotkeys } from '@mantine/hooks'
import { useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { type KeyboardEvent, useState } from 'react'
import { useTranslations } from 'use-intl'
import { useKey, useSession } from '../session.js'
import { MENU, pathOf } from './Shell.js'

interface Target {
  readonly id: string
  readonly label: string
  readonly hint: string
  /** Below the environment. */
  readonly path: string
}

const SHOWN = 12

/** Opens with Ctrl or Cmd and K: goes to a page, an agent, a number, or a call by its number. */
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
  const [at, setAt] = useState(0)
  const targets = useTargets(text)
  const chosen = Math.min(at, targets.length - 1)
  const go = (target: Target | undefined): void => {
    if (target === undefined) return
    close()
    void navigate({ to: `/$environment/${target.path}` as '/$environment', params: { environment } })
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
  const { api } = useSession()
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
  const words = text.toLocaleLowerCase().split(/\s+/)
  const matching = [...pages, ...(found ?? [])].filter(({ label }) =>
    words.every((word) => label.toLocaleLowerCase().includes(word)),
  )
  const called = digits.length < 3 ? [] : (calls.data?.items ?? [])
  return [
    ...called.map(({ id, from, to }) => ({
      id,
      label: `${from} → ${to}`,
      hint: t('call'),
      path: `calls/${id}`,
    })),
    ...matching,
  ].slice(0, SHOWN)
}
