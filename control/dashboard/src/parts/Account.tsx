import { Button, Menu, NativeSelect, Text, useMantineColorScheme } from '@mantine/core'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { useTranslations } from 'use-intl'
import { type Language, useLanguage } from '../i18n.js'
import { useChooseOrganization, useSession, useSignOut } from '../session.js'
import { KeyList } from './Shortcuts.js'

/** The menu of the user: organization, language, colours and sign-out. */
export function Account() {
  const t = useTranslations('head')
  const { user, organization, organizations, environment } = useSession()
  const navigate = useNavigate()
  const { language, choose } = useLanguage()
  const { colorScheme, setColorScheme } = useMantineColorScheme()
  const chooseOrganization = useChooseOrganization()
  const tKeys = useTranslations('keyboard')
  const [keys, setKeys] = useState(false)
  const signOut = useSignOut()
  return (
    <>
      <Menu closeOnItemClick={false} trapFocus>
        <Menu.Target>
          <Button variant="default" className="account">
            <Text size="sm" truncate data-cut>
              {user.name || user.email}
            </Text>
          </Button>
        </Menu.Target>
        <Menu.Dropdown p="sm">
          {organization !== null && (
            <NativeSelect
              label={t('organization')}
              value={organization.id}
              onChange={({ currentTarget }) => chooseOrganization(currentTarget.value)}
              data={organizations.map(({ id, name }) => ({ value: id, label: name }))}
            />
          )}
          <NativeSelect
            label={t('language')}
            value={language}
            onChange={({ currentTarget }) => choose(currentTarget.value as Language)}
            data={[
              { value: 'en', label: 'English' },
              { value: 'hi', label: 'हिन्दी' },
            ]}
          />
          <NativeSelect
            label={t('scheme')}
            value={colorScheme}
            onChange={({ currentTarget }) => setColorScheme(currentTarget.value as 'light' | 'dark' | 'auto')}
            data={(['auto', 'light', 'dark'] as const).map((value) => ({ value, label: t(value) }))}
          />
          <Menu.Divider />
          <Menu.Item
            closeMenuOnClick
            onClick={() =>
              void (organization === null
                ? navigate({ to: '/staff/security' })
                : navigate({ to: '/$environment/security', params: { environment } }))
            }
          >
            {t('security')}
          </Menu.Item>
          <Menu.Item closeMenuOnClick onClick={() => setKeys(true)}>
            {tKeys('title')}
          </Menu.Item>
          <Menu.Item component="a" href={new URL('../docs', document.baseURI).href}>
            {t('docs')}
          </Menu.Item>
          <Menu.Item onClick={() => void signOut()}>{t('signOut')}</Menu.Item>
        </Menu.Dropdown>
      </Menu>
      {keys && <KeyList close={() => setKeys(false)} />}
    </>
  )
}
