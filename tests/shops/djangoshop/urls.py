"""The addresses."""

from django.http import HttpRequest, HttpResponse
from django.urls import path
from django.views.decorators.csrf import csrf_exempt, csrf_protect

from djangoshop import views


@csrf_exempt
def payments_hook(request: HttpRequest) -> HttpResponse:
    """Take a webhook; without the exemption it would need a token that only forms have."""
    if "csrf_protected" in views.bugs():
        return csrf_protect(views.webhook)(request)
    return views.webhook(request)


urlpatterns = [
    path("checkout/<str:order_id>", views.checkout),
    path("orders/<str:order_id>", views.show),
    path("orders/<str:order_id>/refunds", views.refund),
    path("hooks/payments", payments_hook),
]
