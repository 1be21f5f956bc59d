import { Kbd, Modal, Stack, Switch, Text } from '@mantine/core'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { useTranslations } from 'use-intl'
import { useSession } from '../session.js'
import { useFocusBack } from './focus.js'
import { setSingleKeys, useKeys, useSingleKeys } from './keys.js'
import { Facts } from './Rows.js'
import { pathOf } from './Shell.js'

/** The second key of `g` and the screen that it goes to. */
const SCREENS = {
  o: 'overview',
  l: 'live-calls',
  c: 'calls',
  e: 'events',
  a: 'agents',
  k: 'knowledge',
  n: 'numbers',
  t: 'trunks',
  d: 'destinations',
  p: 'campaigns',
  b: 'callbacks',
  m: 'compliance',
  w: 'wallet',
  s: 'settings',
  h: 'webhooks',
} as const

/** Keys for the whole page: `g` and a letter goes to a screen, `/` to the filter, `?` lists the keys. */
export function Shortcuts() {
  const { environment } = useSession()
  const navigate = useNavigate()
  const [listed, setListed] = useState(false)
  useKeys({
    '/': () => document.querySelector<HTMLElement>('main [data-filter]')?.focus(),
    '?': () => setListed(true),
    ...Object.fromEntries(
      Object.entries(SCREENS).map(([key, screen]) => [
        `g ${key}`,
        () =>
          void navigate({
            to: `/$environment/${pathOf(screen)}` as '/$environment',
            params: { environment },
          }),
      ]),
    ),
  })
  return listed ? <KeyList close={() => setListed(false)} /> : null
}

/** All keys, and the switch that turns them off. */
export function KeyList({ close }: { readonly close: () => void }) {
  const t = useTranslations('keyboard')
  const tMenu = useTranslations('menu')
  const tCommon = useTranslations('common')
  const on = useSingleKeys()
  useFocusBack()
  const keys = (...names: readonly string[]) => (
    <span key={names.join(' ')} className="once">
      {names.map((name) => (
        <Kbd key={name} size="xs" mr={4}>
          {name}
        </Kbd>
      ))}
    </span>
  )
  return (
    <Modal opened onClose={close} title={t('title')} closeButtonProps={{ 'aria-label': tCommon('close') }}>
      <Stack>
        <Switch
          label={t('single')}
          description={t('singleHint')}
          checked={on}
          onChange={({ currentTarget }) => setSingleKeys(currentTarget.checked)}
        />
        <Facts
          facts={[
            [t('palette'), keys('Ctrl K')],
            [t('filter'), keys('/')],
            [t('list'), keys('?')],
          ]}
        />
        <Text size="sm" fw={600}>
          {t('inCall')}
        </Text>
        <Facts
          facts={[
            [t('turns'), keys('J', 'K')],
            [t('play'), keys(t('space'))],
            [t('seconds'), keys('←', '→')],
          ]}
        />
        <Text size="sm" fw={600}>
          {t('inLive')}
        </Text>
        <Facts
          facts={[
            [t('move'), keys('↑', '↓')],
            [t('drawer'), keys('Enter')],
            [t('act'), keys('L', 'T', 'E')],
          ]}
        />
        <Text size="sm" fw={600}>
          {t('go')}
        </Text>
        <Facts
          facts={Object.entries(SCREENS).map(
            ([key, screen]) => [tMenu(screen), keys('G', key.toUpperCase())] as const,
          )}
        />
      </Stack>
    </Modal>
  )
}
