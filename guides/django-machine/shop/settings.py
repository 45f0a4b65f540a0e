"""What Django needs of a project. PAYMENTS is the shop's own."""

SECRET_KEY = "a secret of the tests"  # noqa: S105 - protects nothing
ALLOWED_HOSTS = ["*"]
ROOT_URLCONF = "shop.urls"
INSTALLED_APPS = ["shop"]
DATABASES = {"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
USE_TZ = True
PAYMENTS = {
    "base_url": "https://api.example.test/api/v1",
    "key": "",
    "secret": "",
    "webhook_secret": "",
}
